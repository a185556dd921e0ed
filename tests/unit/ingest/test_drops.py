"""Dropped files: any order, repetition and overlap of events ends in the bucket's own state."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from custody.application.ingestion.accept_drop import DropEvent, DropResult
from custody.application.ingestion.uploads import UploadRequest
from custody.application.ports import StoredObject
from custody.domain.ledger.drops import Drop, DropState
from custody.domain.ledger.sources import SourceFault
from custody.domain.model import (
    Acl,
    DocumentKey,
    ObjectRef,
    SidecarMode,
    SourceKey,
    SourceState,
    VersionRecord,
    VersionState,
)
from custody.domain.provenance.identifiers import drop_document_id
from custody.errors import Unprocessable
from tests.support.ingest_world import READER, TENANT, WRITER, World, lines, principal

WIKI = SourceKey(TENANT, "wiki")
NAME = "a/file.txt"
SIDE = NAME + ".metadata.json"


def key_of(name: str = NAME) -> DocumentKey:
    return DocumentKey(TENANT, drop_document_id("wiki", name))


def sidecar(**attributes: object) -> bytes:
    return json.dumps({"metadataAttributes": attributes}).encode()


@pytest.fixture
def world() -> World:
    world = World()
    world.source()
    return world


def state(world: World, name: str = NAME) -> tuple[DropState, tuple[str, ...]]:
    drop = world.ledger.drop(WIKI, name)
    assert drop is not None
    return drop.state, drop.reasons


def reason(world: World, name: str = NAME, prefix: str = f"{TENANT}/wiki") -> dict[str, object]:
    found = world.objects.head(f"rejected/{prefix}/{name}.reason.json")
    assert found is not None
    kept = world.objects.head(f"rejected/{prefix}/{name}")
    assert kept is not None
    told = json.loads(world.objects.get(found.ref, limit=10_000))
    assert isinstance(told, dict)
    return told


def test_a_dropped_file_is_published_under_its_path(world: World) -> None:
    (outcome,) = world.deliver(world.drop(NAME, b"hello"))
    assert outcome.result is DropResult.ACCEPTED
    assert world.texts() == {"hello"}
    head = world.ledger.head(key_of())
    assert head is not None
    assert (head.name, head.uri) == (NAME, f"s3://evidence/incoming/{TENANT}/wiki/{NAME}")
    assert state(world) == (DropState.ACTIVE, ())
    record = world.ledger.version(key_of(), 1)
    assert record is not None
    assert record.connector == "s3"
    assert record.raw.key.startswith(f"raw/{TENANT}/")


def test_the_same_event_again_does_nothing(world: World) -> None:
    event = world.drop(NAME, b"hello")
    world.deliver(event)
    head, keys, sent = world.ledger.head(key_of()), world.objects.keys(), len(world.queue.sent)
    (again,) = world.deliver(event)
    assert again.result is DropResult.UNCHANGED
    assert (world.ledger.head(key_of()), world.objects.keys()) == (head, keys)
    assert len(world.queue.sent) == sent


def test_the_same_bytes_uploaded_again_make_no_version(world: World) -> None:
    world.deliver(world.drop(NAME, b"hello"))
    world.deliver(world.drop(NAME, b"hello"))
    assert world.ledger.head(key_of()).accepted_version == 1  # type: ignore[union-attr]  # it is there
    assert state(world) == (DropState.ACTIVE, ())


def test_a_file_the_index_has_lost_is_published_again(world: World) -> None:
    world.deliver(world.drop(NAME, b"hello"))
    world.index.lose(key_of())
    world.deliver(world.drop(NAME, b"hello"))
    assert world.texts() == {"hello"}
    assert world.ledger.head(key_of()).accepted_version == 1  # type: ignore[union-attr]  # it is there


def test_events_in_any_order_and_twice_end_with_the_newest_upload(world: World) -> None:
    for order in itertools.permutations(range(3)):
        world = World()
        world.source()
        events = [world.drop(NAME, body) for body in (b"one", b"two", b"three")]
        for index in (*order, *order):
            world.accept_drop(events[index])
        world.work()
        assert world.texts() == {"three"}, order
        assert state(world) == (DropState.ACTIVE, ())


def test_a_stale_event_is_skipped(world: World) -> None:
    old, new = world.drop(NAME, b"one"), world.drop(NAME, b"two")
    world.deliver(new)
    (outcome,) = world.deliver(old)
    assert outcome.result is DropResult.STALE


def test_sequencers_of_other_lengths_compare_padded(world: World) -> None:
    event = world.drop(NAME, b"one")
    world.deliver(replace(event, sequencer="0A"))
    assert world.accept_drop(replace(event, sequencer="09FF")).result is DropResult.STALE
    assert world.accept_drop(replace(event, sequencer="0A00")).result is DropResult.UNCHANGED


def test_without_sequencers_events_converge_too(world: World) -> None:
    events = [replace(world.drop(NAME, body), sequencer=None) for body in (b"one", b"two")]
    world.deliver(*reversed(events), *events)
    assert world.texts() == {"two"}
    assert world.ledger.head(key_of()).accepted_version == 1  # type: ignore[union-attr]  # it is there


class TestDeletion:
    def test_a_deleted_object_is_erased_where_the_source_mirrors(self, world: World) -> None:
        world.source(mirror_deletes=True)
        world.deliver(world.drop(NAME, b"hello"))
        world.deliver(world.undrop(NAME))
        assert world.texts() == set()
        assert state(world) == (DropState.REMOVED, ())
        assert world.objects.keys(f"raw/{TENANT}/") == ()

    def test_it_stays_where_the_source_does_not(self, world: World) -> None:
        world.deliver(world.drop(NAME, b"hello"))
        world.deliver(world.undrop(NAME))
        assert world.texts() == {"hello"}

    @pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
    def test_put_delete_put_in_any_order_never_revives_or_loses(
        self, order: tuple[int, ...]
    ) -> None:
        """The bucket ends with the last upload; each event may come at any time, and twice."""
        world = World()
        world.source(mirror_deletes=True)
        events = [
            world.drop(NAME, b"one"),
            world.undrop(NAME),
            world.drop(NAME, b"two"),
            world.drop(NAME, b"three"),
        ]
        world.deliver(*(events[index] for index in (*order, *reversed(order))))
        assert world.texts() == {"three"}

    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
    def test_put_put_delete_in_any_order_ends_erased(self, order: tuple[int, ...]) -> None:
        world = World()
        world.source(mirror_deletes=True)
        world.deliver(first := world.drop(NAME, b"zero"))
        events = [world.drop(NAME, b"one"), world.drop(NAME, b"two"), world.undrop(NAME)]
        world.deliver(*(events[index] for index in order), first, events[0])
        assert world.texts() == set()
        assert world.ledger.head(key_of()).state is VersionState.ERASED  # type: ignore[union-attr]  # it is there

    def test_a_file_comes_back_after_its_deletion(self, world: World) -> None:
        world.source(mirror_deletes=True)
        world.deliver(world.drop(NAME, b"one"))
        world.deliver(world.undrop(NAME))
        world.deliver(world.drop(NAME, b"one"))
        assert {(one.version, one.text) for one in world.served()} == {(2, "one")}

    def test_a_quarantined_source_keeps_what_it_holds(self, world: World) -> None:
        world.source(mirror_deletes=True)
        world.deliver(world.drop(NAME, b"one"))
        source = world.ledger.source(WIKI)
        assert source is not None
        world.ledger.put_source(
            replace(source, state=SourceState.QUARANTINED), expected_revision=source.revision
        )
        world.deliver(world.undrop(NAME))
        assert world.ledger.head(key_of()).state is VersionState.ACTIVE  # type: ignore[union-attr]  # it is there


class TestSidecars:
    def test_it_gives_title_acl_validity_and_metadata(self, world: World) -> None:
        world.source(default_acl=("group:staff", "user:bob"))
        typed = {
            "value": {"type": "STRING", "stringValue": "Handbook"},
            "includeForEmbedding": True,
        }
        body = sidecar(
            title=typed,
            acl=["user:bob"],
            valid_from="2026-01-01T00:00:00Z",
            team="platform",
            pages={"value": {"type": "NUMBER", "numberValue": 3}},
            tags=["a", "b"],
        )
        world.drop(SIDE, body)
        world.deliver(world.drop(NAME, b"hello"))
        record = world.ledger.version(key_of(), 1)
        assert record is not None
        assert (record.title, record.acl.allow) == ("Handbook", ("user:bob",))
        assert record.metadata == {"team": "platform", "pages": 3, "tags": ("a", "b")}
        found = world.objects.head(f"incoming/{TENANT}/wiki/{NAME}")
        assert found is not None
        assert record.observed_at == found.last_modified
        assert world.texts() == set()
        assert world.texts(principal("bob")) == {"hello"}

    @pytest.mark.parametrize("mode", [SidecarMode.OPTIONAL, SidecarMode.REQUIRED])
    @pytest.mark.parametrize(
        "order", [(0, 1), (1, 0), (0, 1, 1), (1, 1, 0), (1, 0, 1, 0), (0, 0, 1, 0)]
    )
    def test_first_last_or_twice_it_converges(
        self, mode: SidecarMode, order: tuple[int, ...]
    ) -> None:
        world = World()
        world.source(sidecar=mode, default_acl=("group:staff", "user:bob"))
        dropped = [(NAME, b"hello"), (SIDE, sidecar(acl=["user:bob"], title="T"))]
        for step in order:
            world.deliver(world.drop(*dropped[step]))
        assert world.texts() == set()
        assert world.texts(principal("bob")) == {"hello"}
        assert world.ledger.head(key_of()).title == "T"  # type: ignore[union-attr]  # it is there
        assert state(world) == (DropState.ACTIVE, ())

    def test_required_holds_the_object_until_the_sidecar_comes(self, world: World) -> None:
        world.source(sidecar=SidecarMode.REQUIRED)
        (held,) = world.deliver(world.drop(NAME, b"hello"))
        assert held.result is DropResult.WAITING
        assert state(world) == (DropState.PENDING, ("sidecar-missing",))
        assert world.ledger.head(key_of()) is None
        world.deliver(world.drop(SIDE, sidecar(title="T")))
        assert world.texts() == {"hello"}

    def test_a_sidecar_alone_waits_for_its_object(self, world: World) -> None:
        (waits,) = world.deliver(world.drop(SIDE, sidecar(title="T")))
        assert waits.result is DropResult.WAITING
        assert state(world) == (DropState.PENDING, ("object-missing",))

    @pytest.mark.parametrize("deep", [2, 3])
    @pytest.mark.parametrize("first", [True, False])
    def test_what_ends_as_a_sidecar_is_never_a_document(
        self, world: World, deep: int, first: bool
    ) -> None:
        name = NAME + ".metadata.json" * deep
        events = [world.drop(NAME, b"hello"), world.drop(SIDE, sidecar(title="T"))]
        odd = world.drop(name, sidecar(title="secret"))
        outcomes = world.deliver(*([odd, *events] if first else [*events, odd]))
        refused = outcomes[0 if first else -1]
        assert (refused.result, refused.reasons) == (
            DropResult.REJECTED,
            ("sidecar-of-a-sidecar",),
        )
        assert world.texts() == {"hello"}
        assert reason(world, name)["reasons"] == ["sidecar-of-a-sidecar"]
        assert world.ledger.drop(SourceKey(TENANT, "wiki"), SIDE) is None

    def test_forbidden_keeps_the_sidecar_away_and_takes_the_file(self, world: World) -> None:
        for order in (0, 1):
            world = World()
            world.source(sidecar=SidecarMode.FORBIDDEN)
            events = [world.drop(NAME, b"hello"), world.drop(SIDE, sidecar(acl=["user:bob"]))]
            world.deliver(*(events if order else reversed(events)))
            assert world.texts() == {"hello"}
            assert reason(world, SIDE)["reasons"] == ["sidecar-forbidden"]

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            (b"", "sidecar-malformed"),
            (b"{", "sidecar-malformed"),
            (b"\xff\xfe", "sidecar-malformed"),
            (b"[]", "sidecar-malformed"),
            (b"{}", "sidecar-malformed"),
            (b'{"metadataAttributes": []}', "sidecar-malformed"),
            (b'{"metadataAttributes": {"a": NaN}}', "sidecar-malformed"),
            (b'{"metadataAttributes": {"a": 1, "a": 2}}', "sidecar-malformed"),
            (b'{"metadataAttributes": {}, "other": 1}', "sidecar-malformed"),
            (sidecar(title=3), "sidecar-malformed"),
            (sidecar(acl=3), "sidecar-malformed"),
            (sidecar(acl=[]), "sidecar-malformed"),
            (sidecar(acl=["boss"]), "sidecar-malformed"),
            (sidecar(valid_from="2026-01-01"), "sidecar-malformed"),
            (sidecar(valid_from="2026-01-01T00:00:00"), "sidecar-malformed"),
            (
                sidecar(valid_from="2026-02-01T00:00:00Z", valid_to="2026-01-01T00:00:00Z"),
                "sidecar-malformed",
            ),
            (sidecar(a={"value": {"type": "NUMBER", "numberValue": "3"}}), "sidecar-malformed"),
            (sidecar(a={"value": {"type": "BOOLEAN", "stringValue": "x"}}), "sidecar-malformed"),
            (sidecar(a={"deep": {"er": 1}}), "sidecar-malformed"),
            (sidecar(a="x" * 20_000), "sidecar-malformed"),
            (sidecar(a="x" * 140_000), "sidecar-too-large"),
            (sidecar(acl=["everyone"]), "sidecar-acl-too-wide"),
            (sidecar(acl=["group:staff", "user:bob"]), "sidecar-acl-too-wide"),
            (sidecar(trust_domain="board"), "sidecar-claims-trust"),
            (sidecar(**{"Trust-Domain": "board"}), "sidecar-claims-trust"),
            (sidecar(trustDomain="board"), "sidecar-claims-trust"),
            (sidecar(**{"trust domain": "board"}), "sidecar-claims-trust"),
            (sidecar(ｔrust="yes"), "sidecar-claims-trust"),
            (sidecar(ACL=["user:bob"]), "sidecar-malformed"),
            (sidecar(**{"acl ": ["user:bob"]}), "sidecar-malformed"),
            (sidecar(validTo="2020-01-01T00:00:00Z"), "sidecar-malformed"),
            (sidecar(**{"Valid-From": "2999-01-01T00:00:00Z"}), "sidecar-malformed"),
            (sidecar(source_id="board"), "sidecar-claims-trust"),
            (sidecar(observed_at="2999-01-01T00:00:00Z"), "sidecar-claims-trust"),
            (sidecar(writers=["user:eve"]), "sidecar-claims-trust"),
            (b'{"metadataAttributes": {}, "reputation": 1}', "sidecar-claims-trust"),
        ],
    )
    def test_a_broken_one_rejects_whichever_came_first(self, body: bytes, code: str) -> None:
        for object_first in (True, False):
            world = World()
            world.source()
            dropped = [(NAME, b"hello"), (SIDE, body)]
            for name, content in dropped if object_first else reversed(dropped):
                world.deliver(world.drop(name, content))
            assert state(world) == (DropState.REJECTED, (code,))
            assert world.texts() == set(), "nobody may read what has an unreadable ACL"
            assert reason(world)["reasons"] == [code]
            assert reason(world, SIDE)["reasons"] == [code]

    def test_mending_a_broken_one_publishes_again(self, world: World) -> None:
        world.deliver(world.drop(NAME, b"hello"))
        world.deliver(world.drop(SIDE, b"{"))
        assert world.texts() == set()
        world.deliver(world.drop(SIDE, sidecar(title="T")))
        assert world.texts() == {"hello"}
        assert state(world) == (DropState.ACTIVE, ())

    def test_a_broken_one_stops_a_version_on_its_way(self, world: World) -> None:
        world.accept_drop(world.drop(NAME, b"hello"))
        world.accept_drop(world.drop(SIDE, b"{"))
        world.work()
        assert world.texts() == set()
        assert world.ledger.version(key_of(), 1).state is VersionState.REJECTED  # type: ignore[union-attr]  # it is there

    def test_an_acl_that_changes_in_the_sidecar_alone_takes_effect(self, world: World) -> None:
        world.source(default_acl=("group:staff", "user:bob"))
        world.deliver(world.drop(NAME, b"hello"))
        world.deliver(world.drop(SIDE, sidecar(acl=["user:bob"])))
        assert world.texts(READER) == set()
        world.deliver(world.drop(SIDE, sidecar(acl=["group:staff"])))
        assert world.texts(READER) == {"hello"}
        assert world.texts(principal("bob")) == set()


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "body", "code"),
        [
            ("empty.txt", b"", "empty-document"),
            ("a/../b.txt", b"x", "invalid-path"),
            ("../b.txt", b"x", "invalid-path"),
            ("a//b.txt", b"x", "invalid-path"),
            ("a/./b.txt", b"x", "invalid-path"),
            ("a/", b"x", "invalid-path"),
            ("a\nb.txt", b"x", "invalid-path"),
            ("x" * 801, b"x", "invalid-path"),
            ("x.zip", b"PK\x03\x04", "type-not-supported"),
            ("x.pdf", b"PK\x03\x04rest", "type-mismatch"),
            ("x.txt", b"!reject malformed-pdf", "malformed-pdf"),
            ("x.txt", b" \n ", "empty-document"),
        ],
    )
    def test_a_bad_file_is_kept_with_its_reason(
        self, world: World, name: str, body: bytes, code: str
    ) -> None:
        world.deliver(world.drop(name, body))
        assert state(world, name) == (DropState.REJECTED, (code,))
        told = reason(world, name)
        assert told["reasons"] == [code]
        assert told["key"] == f"incoming/{TENANT}/wiki/{name}"
        assert world.served() == set()

    def test_a_rejected_upload_leaves_the_live_version(self, world: World) -> None:
        world.deliver(world.drop(NAME, b"good"))
        world.deliver(world.drop(NAME, b""))
        assert world.texts() == {"good"}
        assert state(world) == (DropState.REJECTED, ("empty-document",))
        world.deliver(world.drop(NAME, b"better"))
        assert world.texts() == {"better"}
        assert state(world) == (DropState.ACTIVE, ())

    def test_an_object_above_the_limit_is_refused_unread(self, world: World) -> None:
        world.accept_drop = replace(world.accept_drop, max_object_bytes=10)
        reads: list[object] = []
        real = world.objects.get

        def get(ref: ObjectRef, *, limit: int) -> bytes:
            reads.append(ref)
            return real(ref, limit=limit)

        world.objects.get = get  # type: ignore[method-assign]  # watched
        world.deliver(world.drop(NAME, b"x" * 11))
        assert state(world) == (DropState.REJECTED, ("object-too-large",))
        assert reads == []

    def test_one_too_large_to_copy_is_refused_with_its_reason_all_the_same(
        self, world: World
    ) -> None:
        event = world.drop(NAME, b"stands for six gigabytes")
        real = world.objects.head

        def head(key: str) -> StoredObject | None:
            found = real(key)
            if found is None or key != event.key:
                return found
            return replace(found, ref=replace(found.ref, size=6_000_000_000))

        world.objects.head = head  # type: ignore[method-assign]  # tells another size
        world.deliver(event)
        assert state(world) == (DropState.REJECTED, ("object-too-large",))
        (kept,) = world.objects.keys("rejected/")
        stored = real(kept)
        assert stored is not None
        reason = json.loads(world.objects.get(stored.ref, limit=10_000))
        assert (reason["reasons"], reason["size"]) == (["object-too-large"], 6_000_000_000)
        assert real(event.key) is not None

    def test_an_unknown_source_is_refused_and_taken_once_it_is_known(self, world: World) -> None:
        key = f"incoming/{TENANT}/new/{NAME}"
        world.objects.put(key, b"hello", content_type="text/plain")
        (refused,) = world.deliver(DropEvent(key))
        assert (refused.result, refused.reasons) == (DropResult.REJECTED, ("unknown-source",))
        assert reason(world, prefix=f"{TENANT}/new")["reasons"] == ["unknown-source"]
        assert world.uploads.drops(WRITER, NAME) == []
        world.source("new")
        world.deliver(DropEvent(key))
        assert world.texts() == {"hello"}

    @pytest.mark.parametrize(
        ("key", "code"),
        [
            ("incoming/lonely.txt", "invalid-path"),
            ("incoming/acme/wiki", "invalid-path"),
            ("incoming/ACME!/wiki/a.txt", "unknown-source"),
            ("incoming/acme/wi ki/a.txt", "unknown-source"),
            ("incoming//wiki/a.txt", "unknown-source"),
        ],
    )
    def test_a_key_without_tenant_or_source_is_nobodys_drop(
        self, world: World, key: str, code: str
    ) -> None:
        world.objects.put(key, b"x", content_type="text/plain")
        outcome = world.accept_drop(DropEvent(key))
        assert (outcome.result, outcome.reasons) == (DropResult.REJECTED, (code,))
        assert world.objects.head(f"rejected/{key.removeprefix('incoming/')}") is not None

    def test_another_tenants_prefix_is_another_tenants_source(self, world: World) -> None:
        world.objects.put(f"incoming/other/wiki/{NAME}", b"x", content_type="text/plain")
        (outcome,) = world.deliver(DropEvent(f"incoming/other/wiki/{NAME}"))
        assert outcome.reasons == ("unknown-source",)
        assert world.ledger.head(key_of()) is None

    def test_a_quarantined_source_takes_no_drop(self, world: World) -> None:
        source = world.ledger.source(WIKI)
        assert source is not None
        world.ledger.put_source(
            replace(source, state=SourceState.QUARANTINED), expected_revision=source.revision
        )
        (outcome,) = world.deliver(world.drop(NAME, b"x"))
        assert outcome.reasons == ("source-quarantined",)

    @pytest.mark.parametrize(
        ("fault", "wrong"),
        [
            (SourceFault.QUARANTINED, {"state": SourceState.QUARANTINED}),
            (SourceFault.RETIRED, {"state": SourceState.RETIRED}),
            (SourceFault.ACL_REQUIRED, {"default_acl": None}),
            (SourceFault.ACL_TOO_WIDE, {"max_acl": Acl.of("user:bob")}),
        ],
    )
    def test_what_its_source_kept_out_is_taken_once_the_source_is_mended(
        self, world: World, fault: SourceFault, wrong: dict[str, Any]
    ) -> None:
        source = world.ledger.source(WIKI)
        assert source is not None
        bad = world.ledger.put_source(replace(source, **wrong), expected_revision=None)
        event = world.drop(NAME, b"hello")
        (refused,) = world.deliver(event)
        assert (refused.result, refused.reasons) == (DropResult.REJECTED, (fault.value,))
        world.ledger.put_source(source, expected_revision=bad.revision)
        world.deliver(event)
        assert world.texts() == {"hello"}

    def test_what_is_wrong_with_the_file_itself_is_not_judged_again(self, world: World) -> None:
        event = world.drop(NAME, b"")
        world.deliver(event)
        first = world.ledger.drop(WIKI, NAME)
        world.deliver(event)
        assert world.ledger.drop(WIKI, NAME) == first
        assert state(world) == (DropState.REJECTED, ("empty-document",))

    def test_a_drop_without_any_acl_is_refused(self, world: World) -> None:
        world.source(default_acl=None)
        (outcome,) = world.deliver(world.drop(NAME, b"x"))
        assert outcome.reasons == ("acl-required",)

    @pytest.mark.parametrize(
        "name",
        ["with space.txt", "a+b.txt", "100%.txt", "naïve/日本語 ☕.txt", "a..b/c.txt", "'\"\\.txt"],
    )
    def test_odd_names_are_names(self, world: World, name: str) -> None:
        world.deliver(world.drop(name, b"hello"))
        assert world.texts() == {"hello"}
        assert state(world, name) == (DropState.ACTIVE, ())


class TestRaces:
    def test_an_upload_between_two_reads_is_never_lost(self, world: World) -> None:
        """The object changes after it was looked at and before the ledger is written."""
        real = world.ledger.accept
        done: list[bool] = []

        def slow(
            draft: VersionRecord, *, expected_revision: int, drop: Drop | None = None
        ) -> VersionRecord:
            if not done:
                done.append(True)
                newer = world.drop(NAME, b"newer")
                world.accept_drop(newer)
            return real(draft, expected_revision=expected_revision, drop=drop)

        world.ledger.accept = slow  # type: ignore[method-assign]  # an upload comes between
        world.deliver(world.drop(NAME, b"older"))
        assert world.texts() == {"newer"}

    def test_many_chunks_are_embedded_in_parts_of_32(self, world: World) -> None:
        world.deliver(world.drop(NAME, lines(100).encode()))
        record = world.ledger.version(key_of(), 1)
        assert record is not None
        assert (record.chunk_count, record.parts_total) == (100, 4)
        assert len(world.served()) == 100


@pytest.mark.parametrize(
    "name",
    [
        ".metadata.json",
        "manuals/.metadata.json",
        "a/../b.txt",
        "a//b",
        "a.txt.metadata.json.metadata.json",
    ],
)
def test_no_upload_is_offered_for_what_would_only_be_rejected(world: World, name: str) -> None:
    with pytest.raises(Unprocessable) as refused:
        world.uploads.create(WRITER, UploadRequest("wiki", name, "application/json", 5))
    assert (refused.value.code, refused.value.field) == ("invalid-path", "name")


@pytest.mark.parametrize("suffix", ["", ".metadata.json"])
def test_a_file_and_its_sidecar_are_offered_up_to_the_same_length(
    world: World, suffix: str
) -> None:
    longest = "x" * 800
    ticket = world.uploads.create(
        WRITER, UploadRequest("wiki", longest + suffix, "application/json", 5)
    )
    assert ticket.document_id == drop_document_id("wiki", longest)
