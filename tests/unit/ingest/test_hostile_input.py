"""Whatever bytes come, the answer is a value or an error of ours, never anything else."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.application.ingestion.accept_drop import DropEvent, DropResult
from custody.domain.intake import sidecar, validation
from custody.domain.model import Chunk
from custody.domain.storage import chunk_lines, object_keys
from custody.errors import BrokenSidecar, CustodyError, IntegrityError, Rejected
from tests.support.functions import load
from tests.support.ingest_world import TENANT, World

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ["title", "acl", "valid_from", "valid_to", "observed_at", "writers", "a", "value", "type"]
)


def outcome_of[Found](action: Callable[[], Found]) -> tuple[Found | None, CustodyError | None]:
    try:
        return action(), None
    except CustodyError as error:
        return None, error


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_sidecar_or_rejected(body: bytes) -> None:
    _, refused = outcome_of(lambda: sidecar.read(body, tenant=TENANT))
    assert refused is None or isinstance(refused, BrokenSidecar)


@given(st.dictionaries(NAMES | st.text(max_size=20), JSON, max_size=6))
def test_any_attributes_are_a_sidecar_or_rejected(attributes: dict[str, object]) -> None:
    body = json.dumps({"metadataAttributes": attributes}).encode()
    found, refused = outcome_of(lambda: sidecar.read(body, tenant=TENANT))
    assert refused is None or isinstance(refused, BrokenSidecar)
    if found is not None:
        assert validation.metadata(found.metadata) == found.metadata


def test_deeply_nested_json_is_rejected() -> None:
    with pytest.raises(Rejected):
        sidecar.read(b'{"metadataAttributes": ' + b"[" * 50_000, tenant=TENANT)


DROP_EVENTS = load("accept").drop_events


@given(st.text(max_size=300) | JSON.map(json.dumps))
def test_any_message_is_an_s3_event_or_malformed(body: str) -> None:
    events, refused = outcome_of(lambda: DROP_EVENTS(body, bucket="evidence"))
    assert refused is None or refused.code in {"malformed-event", "malformed-json"}
    assert all(isinstance(event, DropEvent) for event in events or ())


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_path_is_published_or_rejected_and_the_copy_has_a_legal_key(path: str) -> None:
    world = World()
    world.source()
    key = f"incoming/{TENANT}/wiki/{path}"
    world.objects.put(key, b"hello", content_type="text/plain")
    outcome = world.accept_drop(DropEvent(key))
    world.work()
    if outcome.result is DropResult.REJECTED:
        assert outcome.reasons == ("invalid-path",)
        assert world.objects.head(object_keys.rejected(key) + ".reason.json") is not None
    elif outcome.result is DropResult.ACCEPTED:
        assert world.texts() == {"hello"}
    else:
        assert path.endswith(sidecar.SUFFIX)


@given(st.text(min_size=1, max_size=1024))
def test_a_reject_key_always_leaves_room_for_its_reason(path: str) -> None:
    key = object_keys.rejected(f"incoming/{TENANT}/wiki/{path}")
    size = len((key + object_keys.REASON_SUFFIX).encode("utf-8", "surrogatepass"))
    assert size <= object_keys.MAX_KEY_BYTES


def copies_of(*paths: str) -> list[str]:
    keys = [object_keys.rejected(f"incoming/{TENANT}/wiki/{path}") for path in paths]
    return keys + [key + object_keys.REASON_SUFFIX for key in keys]


@given(st.text(min_size=1, max_size=400))
def test_no_two_drops_share_a_reject_key(path: str) -> None:
    reason = path + object_keys.REASON_SUFFIX
    digest = copies_of(reason)[0].removeprefix(f"rejected/{TENANT}/wiki/")
    kept = copies_of(path, reason, reason + object_keys.REASON_SUFFIX, digest)
    assert len(set(kept)) == len(kept)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.lists(st.tuples(TEXT, TEXT | st.none(), st.integers(1, 99) | st.none()), max_size=6))
def test_chunk_lines_come_back_as_they_were(
    parts: list[tuple[str, str | None, int | None]],
) -> None:
    chunks = tuple(
        Chunk("d", 1, ordinal, None, heading, page, text)
        for ordinal, (text, heading, page) in enumerate(parts)
    )
    body = chunk_lines.encode(chunks)
    if chunks:
        assert chunk_lines.decode(body) == chunks
        for cut in (body[:-1], body + b"x", body[1:], body + body):
            with pytest.raises(IntegrityError):
                chunk_lines.decode(cut)


@given(st.dictionaries(st.text(max_size=20), JSON, max_size=5))
def test_any_metadata_is_clean_or_refused(given_metadata: dict[str, object]) -> None:
    clean, refused = outcome_of(lambda: validation.metadata(given_metadata))
    assert refused is None or refused.status == 422
    if clean is not None:
        assert validation.metadata(clean) == clean
