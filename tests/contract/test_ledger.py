"""What every ledger must do: one suite, in memory and on DynamoDB's API."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from custody.adapters.dynamodb import Pacing, connect
from custody.application.ports import Flip, Ledger, Page
from custody.domain.ledger.drops import Drop, DropState
from custody.domain.ledger.erasures import Artifact, Erasure, ErasureLevel, ErasureState
from custody.domain.ledger.sources import SourceChange, source_at
from custody.domain.ledger.trust_changes import TrustAction, TrustChange
from custody.domain.model import (
    Acl,
    DocumentKey,
    Head,
    KeyState,
    PolicyRef,
    SourceKey,
    SourceState,
    VersionRecord,
    VersionState,
)
from custody.errors import (
    BadRequest,
    Conflict,
    IntegrityError,
    Moved,
    NoControlItem,
    NotFound,
    Unavailable,
)
from custody_memory.ledger import MemoryLedger
from tests.support import records
from tests.support.records import LATER, NOW
from tests.support.tables import create_ledger, delete_ledger, ledger_on

KEY = DocumentKey("acme", "guide")
WIKI = SourceKey("acme", "wiki")
STAFF, ANN = Acl.of("group:staff"), Acl.of("user:ann")
PATIENT = Pacing(attempts=400, first_seconds=0.001, longest_seconds=0.02, deadline_seconds=60)


@pytest.fixture(
    params=["memory", pytest.param("dynamodb", marks=pytest.mark.emulator)], scope="module"
)
def make_ledger(request: pytest.FixtureRequest) -> Iterator[Callable[[], Ledger]]:
    if request.param == "memory":
        yield MemoryLedger
        return
    client = connect(endpoint_url=request.getfixturevalue("aws_endpoint"), read_timeout=60)
    with ExitStack() as cleaning:
        cleaning.callback(client.close)

        def make() -> Ledger:
            prefix = f"custody-{uuid.uuid4().hex}"
            create_ledger(client, prefix)
            cleaning.callback(delete_ledger, client, prefix)
            return ledger_on(client, prefix, pacing=PATIENT)

        yield make


@pytest.fixture
def ledger(make_ledger: Callable[[], Ledger]) -> Ledger:
    return make_ledger()


# helpers


def accept(ledger: Ledger, key: DocumentKey = KEY, **changes: Any) -> VersionRecord:
    head = ledger.head(key)
    return ledger.accept(
        records.draft(key, **changes), expected_revision=head.revision if head else 0
    )


def flip(
    ledger: Ledger, record: VersionRecord, at: datetime = LATER, **changes: Any
) -> Head | None:
    return ledger.flip(Flip(replace(record, **records.published(record, **changes)), at))


def publish(ledger: Ledger, key: DocumentKey = KEY, at: datetime = LATER, **changes: Any) -> Head:
    head = flip(ledger, accept(ledger, key, **changes), at)
    assert head is not None
    return head


def head_of(ledger: Ledger, key: DocumentKey = KEY) -> Head:
    head = ledger.head(key)
    assert head is not None
    return head


def version_of(ledger: Ledger, version: int, key: DocumentKey = KEY) -> VersionRecord:
    record = ledger.version(key, version)
    assert record is not None
    return record


def erase(ledger: Ledger, erasure_id: str = "erasure-1", key: DocumentKey = KEY) -> Head:
    erasure = Erasure(erasure_id, key, 0, "asked", "user:ann", LATER)
    return ledger.tombstone(erasure, expected_revision=head_of(ledger, key).revision)


def drop(**changes: Any) -> Drop:
    return replace(Drop(WIKI, "a/ü b.md", KEY, 0, DropState.PENDING, updated_at=NOW), **changes)


# accepting


def test_a_first_version_is_pending_and_nothing_is_live(ledger: Ledger) -> None:
    record = accept(ledger)
    assert record == replace(records.draft(KEY), version=1)
    assert ledger.version(KEY, 1) == record
    head = head_of(ledger)
    assert (head.version, head.accepted_version, head.revision) == (0, 1, 1)
    assert (head.state, head.source_id, head.name) == (VersionState.PENDING, "wiki", "guide.md")
    assert head.envelope is None


def test_nothing_is_known_of_what_was_never_written(ledger: Ledger) -> None:
    assert ledger.head(KEY) is None
    assert ledger.version(KEY, 1) is None
    assert ledger.source(WIKI) is None
    assert ledger.drop(WIKI, "a") is None
    assert ledger.erasure("acme", "erasure-1") is None
    assert ledger.versions(KEY) == Page(())
    assert ledger.find_drops("acme", "a") == ()


def test_a_metadata_value_keeps_its_type(ledger: Ledger) -> None:
    accept(ledger)
    stored = version_of(ledger, 1).metadata
    assert {name: type(value) for name, value in stored.items()} == {
        "team": str,
        "year": int,
        "draft": bool,
        "weight": float,
        "tags": tuple,
    }


def test_content_that_returns_is_a_version_of_its_own(ledger: Ledger) -> None:
    for content in ("a", "b", "a"):
        publish(ledger, content_sha256=content * 64)
    assert head_of(ledger).version == 3
    states = [(record.version, record.state) for record in ledger.versions(KEY).items]
    assert states == [
        (3, VersionState.ACTIVE),
        (2, VersionState.SUPERSEDED),
        (1, VersionState.SUPERSEDED),
    ]


def test_twin_documents_of_equal_content_live_and_die_apart(ledger: Ledger) -> None:
    twin = DocumentKey("acme", "guide-copy")
    publish(ledger)
    publish(ledger, twin)
    erase(ledger)
    assert head_of(ledger, twin).state is VersionState.ACTIVE
    assert version_of(ledger, 1, twin).state is VersionState.ACTIVE


def test_the_same_id_in_another_tenant_is_another_document(ledger: Ledger) -> None:
    publish(ledger)
    other = DocumentKey("globex", "guide")
    assert ledger.head(other) is None
    accept(ledger, other, source_id="theirs")
    assert head_of(ledger).source_id == "wiki"


def test_a_document_belongs_to_the_source_that_first_used_it(ledger: Ledger) -> None:
    publish(ledger)
    for expected in (0, head_of(ledger).revision):
        with pytest.raises(Conflict) as refused:
            ledger.accept(records.draft(KEY, source_id="intruder"), expected_revision=expected)
        assert refused.value.code == "document-owned-elsewhere"
        assert not isinstance(refused.value, Moved)
    erase(ledger)
    with pytest.raises(Conflict):
        accept(ledger, source_id="intruder")


def test_accepting_on_a_revision_that_moved_is_refused_and_writes_nothing(ledger: Ledger) -> None:
    publish(ledger)
    before = head_of(ledger)
    for stale in (0, before.revision - 1, before.revision + 1):
        with pytest.raises(Moved) as refused:
            ledger.accept(records.draft(KEY), expected_revision=stale)
        assert refused.value.code == "version-conflict"
    assert head_of(ledger) == before
    assert ledger.version(KEY, 2) is None


def test_accepting_never_changes_what_is_live(ledger: Ledger) -> None:
    live = publish(ledger)
    accept(ledger, title="Other", acl=ANN, content_sha256="c" * 64)
    after = head_of(ledger)
    assert after == replace(
        live, accepted_version=2, revision=live.revision + 1, updated_at=after.updated_at
    )


def test_twenty_writers_at_once_lose_nothing(ledger: Ledger) -> None:
    def write(number: int) -> int:
        for _ in range(400):
            with suppress(Conflict):
                return accept(ledger, content_sha256=f"{number:064x}").version
        raise AssertionError("never got through")

    with ThreadPoolExecutor(20) as threads:
        versions = list(threads.map(write, range(20)))
    assert sorted(versions) == list(range(1, 21))
    assert head_of(ledger).accepted_version == 20
    stored = {record.content_sha256 for record in ledger.versions(KEY).items}
    assert stored == {f"{number:064x}" for number in range(20)}


def test_a_drop_is_stored_with_its_version_or_not_at_all(ledger: Ledger) -> None:
    record = ledger.accept(records.draft(KEY), expected_revision=0, drop=drop())
    stored = ledger.drop(WIKI, "a/ü b.md")
    assert stored == drop(revision=1, version=record.version)
    with pytest.raises(Moved):
        ledger.accept(
            records.draft(KEY), expected_revision=head_of(ledger).revision, drop=drop(revision=7)
        )
    assert head_of(ledger).accepted_version == 1
    assert ledger.version(KEY, 2) is None
    with pytest.raises(Moved):
        ledger.accept(records.draft(KEY), expected_revision=0, drop=stored)
    assert ledger.drop(WIKI, "a/ü b.md") == stored


# parsing and embedding


def test_the_first_parse_is_kept(ledger: Ledger) -> None:
    accept(ledger)
    first = ledger.chunked(KEY, 1, **records.parsed())
    assert (first.chunk_count, first.parts_total, first.title) == (70, 3, "Guide")
    again = ledger.chunked(KEY, 1, **records.parsed() | {"chunk_count": 1, "parser": "other"})
    assert again == first == version_of(ledger, 1)


def test_a_parse_may_give_the_title(ledger: Ledger) -> None:
    accept(ledger, title=None)
    assert ledger.chunked(KEY, 1, **records.parsed() | {"title": "Found"}).title == "Found"


def test_parts_finish_side_by_side_and_twice(ledger: Ledger) -> None:
    accept(ledger)
    ledger.chunked(KEY, 1, **records.parsed() | {"parts_total": 12})
    with ThreadPoolExecutor(6) as threads:
        done = list(
            threads.map(
                lambda part: ledger.part_done(KEY, 1, part % 12, model_revision="model-1"),
                range(24),
            )
        )
    assert version_of(ledger, 1).parts_done == frozenset(range(12))
    assert version_of(ledger, 1).model_revision == "model-1"
    assert any(record.parts_done == frozenset(range(12)) for record in done)


def test_parts_outlive_the_writes_around_them(ledger: Ledger) -> None:
    accept(ledger)
    ledger.chunked(KEY, 1, **records.parsed())
    for part in range(3):
        record = ledger.part_done(KEY, 1, part, model_revision="model-1")
    kept = ledger.signed(replace(record, **records.published(record)))
    assert kept.parts_done == {0, 1, 2}
    assert flip(ledger, kept) is not None
    assert version_of(ledger, 1).parts_done == {0, 1, 2}


def test_a_part_that_is_not_there_is_refused(ledger: Ledger) -> None:
    accept(ledger)
    with pytest.raises(IntegrityError) as unparsed:
        ledger.part_done(KEY, 1, 0, model_revision="model-1")
    ledger.chunked(KEY, 1, **records.parsed())
    with pytest.raises(IntegrityError) as beyond:
        ledger.part_done(KEY, 1, 3, model_revision="model-1")
    with pytest.raises(IntegrityError) as below:
        ledger.part_done(KEY, 1, -1, model_revision="model-1")
    assert {unparsed.value.code, beyond.value.code, below.value.code} == {"unknown-part"}
    assert version_of(ledger, 1).parts_done == frozenset()


def test_models_are_not_mixed_in_one_version(ledger: Ledger) -> None:
    accept(ledger)
    ledger.chunked(KEY, 1, **records.parsed())
    ledger.part_done(KEY, 1, 0, model_revision="model-1")
    with pytest.raises(IntegrityError) as mixed:
        ledger.part_done(KEY, 1, 1, model_revision="model-2")
    assert mixed.value.code == "model-revision-mismatch"
    assert version_of(ledger, 1).parts_done == {0}


def test_a_version_that_does_not_exist_is_not_invented(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        ledger.chunked(KEY, 1, **records.parsed())
    with pytest.raises(NotFound):
        ledger.part_done(KEY, 1, 0, model_revision="model-1")
    with pytest.raises(NotFound):
        ledger.signed(
            replace(records.draft(KEY), version=1, **records.published(records.draft(KEY)))
        )
    ledger.reject(KEY, 1, ["too-late"])
    ledger.mark_erased(KEY, 1, at=LATER)
    assert ledger.flip(Flip(replace(records.draft(KEY), version=1), LATER)) is None
    assert ledger.version(KEY, 1) is None
    assert ledger.head(KEY) is None


# signing and flipping


def test_the_first_statement_wins(ledger: Ledger) -> None:
    record = accept(ledger)
    first = ledger.signed(replace(record, **records.published(record, "first")))
    second = ledger.signed(replace(record, **records.published(record, "second")))
    assert first == second == version_of(ledger, 1)
    assert first.statement_id == "first"
    assert first.envelope == records.envelope("first")
    with pytest.raises(Moved):
        flip(ledger, replace(record), statement="second")
    assert head_of(ledger).version == 0


def test_nothing_goes_live_without_a_statement(ledger: Ledger) -> None:
    record = accept(ledger)
    for missing in ("envelope", "statement_id", "chunk_root"):
        unsigned = replace(record, **records.published(record) | {missing: None})
        with pytest.raises(IntegrityError) as refused:
            ledger.flip(Flip(unsigned, LATER))
        assert refused.value.code == "statement-missing"
    assert head_of(ledger).version == 0


def test_a_flip_makes_a_version_live_with_all_that_publication_added(ledger: Ledger) -> None:
    record = accept(ledger, valid_from=NOW, valid_to=LATER, observed_at=NOW)
    head = flip(ledger, record)
    assert head == head_of(ledger)
    assert head is not None
    assert (head.state, head.version, head.revision) == (VersionState.ACTIVE, 1, 2)
    assert (head.statement_id, head.envelope) == ("statement-1", records.envelope("statement-1"))
    assert (head.chunk_root, head.chunk_count) == (f"{1:064x}", 3)
    assert (head.acl, head.content_sha256) == (record.acl, record.content_sha256)
    assert (head.valid_from, head.valid_to, head.observed_at) == (NOW, LATER, NOW)
    assert head.recorded_at == LATER
    live = version_of(ledger, 1)
    assert (live.state, live.published_at, live.model_revision) == (
        VersionState.ACTIVE,
        LATER,
        "model-1",
    )


def test_a_flip_repeated_changes_nothing(ledger: Ledger) -> None:
    record = accept(ledger)
    head = flip(ledger, record)
    assert flip(ledger, record) == head == head_of(ledger)


def test_versions_published_out_of_order_end_at_the_newest(ledger: Ledger) -> None:
    older, newer = accept(ledger), accept(ledger)
    assert flip(ledger, newer) is not None
    assert flip(ledger, older) is None
    assert head_of(ledger).version == 2
    assert version_of(ledger, 1).state is VersionState.SUPERSEDED
    assert flip(ledger, older) is None


def test_ten_flips_at_once_end_at_the_newest(ledger: Ledger) -> None:
    waiting = [accept(ledger) for _ in range(10)]
    with ThreadPoolExecutor(10) as threads:
        results = list(threads.map(lambda record: flip(ledger, record), waiting))
    assert results[-1] is not None
    assert head_of(ledger).version == 10
    states = {record.version: record.state for record in ledger.versions(KEY).items}
    assert states[10] is VersionState.ACTIVE
    assert {states[version] for version in range(1, 10)} == {VersionState.SUPERSEDED}


def test_a_rejected_version_never_goes_live(ledger: Ledger) -> None:
    record = accept(ledger)
    ledger.reject(KEY, 1, ["malformed-pdf", "too-many-chunks"])
    ledger.reject(KEY, 1, ["other"])
    stored = version_of(ledger, 1)
    assert (stored.state, stored.reasons) == (
        VersionState.REJECTED,
        ("malformed-pdf", "too-many-chunks"),
    )
    assert head_of(ledger).state is VersionState.REJECTED
    assert flip(ledger, record) is None
    assert head_of(ledger).version == 0
    assert ledger.chunked(KEY, 1, **records.parsed()).chunks is None
    assert publish(ledger).version == 2


def test_rejecting_touches_neither_a_live_version_nor_a_newer_one(ledger: Ledger) -> None:
    live = publish(ledger)
    ledger.reject(KEY, 1, ["late"])
    assert head_of(ledger) == live
    assert version_of(ledger, 1).state is VersionState.ACTIVE
    accept(ledger)
    ledger.reject(KEY, 2, ["bad"])
    assert head_of(ledger).version == 1
    assert head_of(ledger).state is VersionState.ACTIVE


def test_rejecting_an_older_version_leaves_the_newer_pending(ledger: Ledger) -> None:
    accept(ledger)
    accept(ledger)
    ledger.reject(KEY, 1, ["bad"])
    assert head_of(ledger).state is VersionState.PENDING


# access


def sign_acl(ledger: Ledger, acl: Acl, *, version: int = 1, acl_revision: int = 1) -> Head | None:
    statement = f"acl-{version}-{acl_revision}-{'-'.join(acl.allow)}"
    return ledger.flip_acl(
        KEY,
        version=version,
        acl_revision=acl_revision,
        acl=acl,
        statement_id=statement,
        envelope=records.envelope(statement),
        at=LATER,
    )


def test_a_narrowed_acl_is_in_force_before_it_is_signed(ledger: Ledger) -> None:
    live = publish(ledger)
    after = ledger.narrow(KEY, ANN, expected_revision=live.revision, at=LATER)
    assert after == head_of(ledger)
    assert after == replace(
        live,
        narrowed_to=ANN,
        revision=live.revision + 1,
        acl_through=1,
        acl_set=ANN,
        acl_set_at=LATER,
    )
    signed = sign_acl(ledger, ANN)
    assert signed == head_of(ledger)
    assert signed is not None
    assert (signed.acl, signed.narrowed_to, signed.acl_revision) == (ANN, None, 1)
    assert signed.statement_id == "acl-1-1-user:ann"
    assert version_of(ledger, 1).envelope == signed.envelope
    assert sign_acl(ledger, ANN) == signed == head_of(ledger)


def test_narrowing_on_a_revision_that_moved_is_refused(ledger: Ledger) -> None:
    live = publish(ledger)
    with pytest.raises(Moved):
        ledger.narrow(KEY, ANN, expected_revision=live.revision - 1, at=LATER)
    assert head_of(ledger) == live


def test_narrowing_needs_a_live_version(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        ledger.narrow(KEY, ANN, expected_revision=0, at=LATER)
    accept(ledger)
    with pytest.raises(Conflict) as refused:
        ledger.narrow(KEY, ANN, expected_revision=1, at=LATER)
    assert refused.value.code == "document-not-live"
    assert not isinstance(refused.value, Moved)


def test_of_two_acl_changes_the_last_one_takes_force(ledger: Ledger) -> None:
    publish(ledger)
    ledger.narrow(KEY, ANN, expected_revision=head_of(ledger).revision, at=LATER)
    ledger.narrow(KEY, STAFF, expected_revision=head_of(ledger).revision, at=LATER)
    assert sign_acl(ledger, ANN) is None
    assert head_of(ledger).narrowed_to == STAFF
    signed = sign_acl(ledger, STAFF)
    assert signed is not None
    assert signed.acl == STAFF
    assert sign_acl(ledger, ANN) is None
    assert sign_acl(ledger, STAFF, acl_revision=2) is None


def test_an_acl_signed_for_a_version_that_is_no_longer_live_is_dropped(ledger: Ledger) -> None:
    publish(ledger)
    ledger.narrow(KEY, ANN, expected_revision=head_of(ledger).revision, at=LATER)
    publish(ledger)
    before = head_of(ledger)
    assert sign_acl(ledger, ANN, version=1) is None
    assert head_of(ledger) == before
    assert (
        ledger.flip_acl(
            DocumentKey("acme", "none"),
            version=1,
            acl_revision=1,
            acl=ANN,
            statement_id="s",
            envelope=records.envelope("s"),
            at=LATER,
        )
        is None
    )


@pytest.mark.parametrize("signed_before", [False, True])
def test_a_version_accepted_before_an_acl_change_does_not_undo_it(
    ledger: Ledger, signed_before: bool
) -> None:
    publish(ledger)
    waiting = accept(ledger)
    ledger.narrow(KEY, ANN, expected_revision=head_of(ledger).revision, at=LATER)
    if signed_before:
        assert sign_acl(ledger, ANN) is not None
    head = flip(ledger, waiting)
    assert head is not None
    assert (head.version, head.acl_revision) == (2, 0)
    assert head.narrowed_to == ANN
    assert sign_acl(ledger, ANN, version=2) is not None
    assert head_of(ledger).acl == ANN


def test_a_version_accepted_after_an_acl_change_brings_its_own(ledger: Ledger) -> None:
    publish(ledger)
    ledger.narrow(KEY, ANN, expected_revision=head_of(ledger).revision, at=LATER)
    head = publish(ledger, acl=STAFF)
    assert (head.acl, head.narrowed_to) == (STAFF, None)


# erasing


def test_a_tombstone_takes_everything_back_that_was_accepted(ledger: Ledger) -> None:
    publish(ledger)
    waiting = accept(ledger)
    head = erase(ledger)
    assert head == head_of(ledger)
    assert (head.state, head.version, head.erased_through) == (VersionState.ERASED, 0, 2)
    assert (head.erasure_id, head.envelope, head.title, head.uri) == (
        "erasure-1",
        None,
        None,
        None,
    )
    stored = ledger.erasure("acme", "erasure-1")
    assert stored == Erasure(
        "erasure-1", KEY, 2, "asked", "user:ann", LATER, source_id="wiki", name="guide.md"
    )
    assert flip(ledger, waiting) is None
    assert ledger.erasure("globex", "erasure-1") is None


def test_a_tombstone_repeated_erases_nothing_that_came_since(ledger: Ledger) -> None:
    publish(ledger)
    erasure = Erasure("erasure-1", KEY, 0, "asked", "user:ann", LATER)
    revision = head_of(ledger).revision
    first = ledger.tombstone(erasure, expected_revision=revision)
    assert ledger.tombstone(erasure, expected_revision=revision) == first
    live = publish(ledger)
    assert ledger.tombstone(erasure, expected_revision=revision) == live
    assert head_of(ledger).version == 2


def test_a_tombstone_on_a_revision_that_moved_is_refused(ledger: Ledger) -> None:
    live = publish(ledger)
    erasure = Erasure("erasure-1", KEY, 0, "asked", "user:ann", LATER)
    with pytest.raises(Moved):
        ledger.tombstone(erasure, expected_revision=live.revision - 1)
    assert head_of(ledger) == live
    assert ledger.erasure("acme", "erasure-1") is None
    with pytest.raises(NotFound):
        ledger.tombstone(replace(erasure, key=DocumentKey("acme", "none")), expected_revision=0)


def test_an_erasure_id_serves_one_document(ledger: Ledger) -> None:
    other = DocumentKey("acme", "other")
    publish(ledger)
    publish(ledger, other)
    erase(ledger)
    with pytest.raises(Conflict) as refused:
        erase(ledger, key=other)
    assert not isinstance(refused.value, Moved)
    assert head_of(ledger, other).state is VersionState.ACTIVE
    stored = ledger.erasure("acme", "erasure-1")
    assert stored is not None
    assert stored.key == KEY


def test_what_comes_after_an_erasure_is_a_new_version_that_may_live(ledger: Ledger) -> None:
    publish(ledger)
    erase(ledger)
    record = accept(ledger)
    assert record.version == 2
    assert head_of(ledger).state is VersionState.PENDING
    head = flip(ledger, record)
    assert head is not None
    assert (head.version, head.erased_through, head.state) == (2, 1, VersionState.ACTIVE)
    assert flip(ledger, version_of(ledger, 1)) is None


def test_a_tombstone_and_a_flip_at_once_never_leave_an_erased_version_live(
    ledger: Ledger,
) -> None:
    for number in range(8):
        key = DocumentKey("acme", f"race-{number}")
        record = accept(ledger, key)

        def erase_until_done(key: DocumentKey = key, number: int = number) -> None:
            for _ in range(50):
                with suppress(Conflict):
                    erase(ledger, f"race-{number}", key)
                    return
            raise AssertionError("never got through")

        with ThreadPoolExecutor(2) as threads:
            flipping = threads.submit(flip, ledger, record)
            threads.submit(erase_until_done).result()
            flipping.result()
        head = head_of(ledger, key)
        assert (head.state, head.version, head.erased_through) == (VersionState.ERASED, 0, 1)


def test_only_ids_digests_state_and_times_outlive_an_erasure(ledger: Ledger) -> None:
    publish(ledger, uri="https://wiki.example/secret-plan", title="Secret plan")
    ledger.chunked(KEY, 1, **records.parsed())
    with pytest.raises(Conflict):
        ledger.mark_erased(KEY, 1, at=LATER)
    erase(ledger)
    ledger.mark_erased(KEY, 1, at=LATER)
    ledger.mark_erased(KEY, 1, at=LATER)
    stored = version_of(ledger, 1)
    assert (stored.state, stored.version, stored.statement_id, stored.content_sha256) == (
        VersionState.ERASED,
        1,
        "statement-1",
        "a" * 64,
    )
    assert (stored.accepted_at, stored.published_at) == (NOW, LATER)
    assert (stored.title, stored.uri, stored.name, stored.envelope) == (None, None, "", None)
    assert (dict(stored.metadata), stored.acl, stored.parts_done) == ({}, Acl(()), frozenset())


def test_late_work_on_an_erased_version_changes_nothing(ledger: Ledger) -> None:
    record = accept(ledger)
    ledger.chunked(KEY, 1, **records.parsed())
    erase(ledger)
    ledger.mark_erased(KEY, 1, at=LATER)
    erased = version_of(ledger, 1)
    assert ledger.chunked(KEY, 1, **records.parsed()) == erased
    assert ledger.part_done(KEY, 1, 0, model_revision="model-1") == erased
    assert ledger.signed(replace(record, **records.published(record))) == erased
    ledger.reject(KEY, 1, ["late"])
    assert flip(ledger, record) is None
    assert version_of(ledger, 1) == erased


def test_a_complete_erasure_is_not_put_back(ledger: Ledger) -> None:
    pending = Erasure("erasure-1", KEY, 1, "asked", "user:ann", NOW)
    artifact = Artifact("index", ErasureLevel.DELETED, LATER)
    complete = replace(
        pending, state=ErasureState.COMPLETE, artifacts=(artifact,), completed_at=LATER
    )
    ledger.put_erasure(pending)
    ledger.put_erasure(complete)
    ledger.put_erasure(replace(pending, state=ErasureState.PARTIAL))
    assert ledger.erasure("acme", "erasure-1") == complete


# drops


def test_drops_are_written_on_the_revision_that_was_read(ledger: Ledger) -> None:
    first = ledger.put_drop(drop())
    assert first == drop(revision=1)
    second = ledger.put_drop(replace(first, state=DropState.REJECTED, reasons=("no-acl",)))
    assert second.revision == 2
    for stale in (drop(), first):
        with pytest.raises(Moved):
            ledger.put_drop(stale)
    assert ledger.drop(WIKI, "a/ü b.md") == second


def test_drops_are_found_by_name_over_all_sources(ledger: Ledger) -> None:
    hr = SourceKey("acme", "hr")
    ledger.put_drop(drop())
    ledger.put_drop(drop(source=hr))
    ledger.put_drop(drop(name="other.md"))
    ledger.put_drop(drop(source=SourceKey("globex", "wiki")))
    found = ledger.find_drops("acme", "a/ü b.md")
    assert [one.source.source_id for one in found] == ["hr", "wiki"]


# trust that is taken away

GONE = TrustChange("key/key-1", TrustAction.REVOKED, LATER, "sec", "leaked")


def test_a_revoked_key_stays_revoked_and_its_change_is_kept(ledger: Ledger) -> None:
    ledger.put_key(records.key())
    retired = TrustChange("key/key-1", TrustAction.RETIRED, NOW, "sec")
    assert ledger.set_key_state("key-1", KeyState.RETIRED, retired).state is KeyState.RETIRED
    assert ledger.control("acme").keys["key-1"].state is KeyState.RETIRED
    for _ in range(2):
        assert ledger.set_key_state("key-1", KeyState.REVOKED, GONE).state is KeyState.REVOKED
    for state in (KeyState.ACTIVE, KeyState.RETIRED):
        with pytest.raises(Conflict) as refused:
            ledger.set_key_state("key-1", state, retired)
        assert refused.value.code == "key-revoked"
    assert ledger.control("acme").keys["key-1"].state is KeyState.REVOKED
    assert ledger.trust_changes(None, "key/key-1") == (retired, GONE)
    assert ledger.trust_changes("acme", "key/key-1") == ()
    with pytest.raises(NotFound) as missing:
        ledger.set_key_state("key-2", KeyState.REVOKED, GONE)
    assert missing.value.code == "key-not-found"


def test_which_policy_was_in_force_when_is_kept(ledger: Ledger) -> None:
    first, second = PolicyRef("gate", "1", "d1"), PolicyRef("gate", "2", "d2")
    activated = TrustChange("policy/gate", TrustAction.ACTIVATED, NOW, "gov", policy=first)
    ledger.put_policy_ref(None, first, change=activated)
    control = ledger.control("acme")
    assert (control.policies["gate"], control.policies_since["gate"]) == (first, NOW)
    own = TrustChange("policy/gate", TrustAction.ACTIVATED, LATER, "ann", policy=second)
    ledger.put_policy_ref("acme", second, change=own)
    control = ledger.control("acme")
    assert (control.policies["gate"], control.policies_since["gate"]) == (second, LATER)
    assert control.own_policies == {"gate"}
    assert ledger.control("globex").policies["gate"] == first
    back = TrustChange("policy/gate", TrustAction.ROLLED_BACK, LATER, "ann")
    with pytest.raises(Moved):
        ledger.drop_policy_ref("acme", "gate", expected=first, change=back)
    with pytest.raises(Moved):
        ledger.put_policy_ref("acme", first, expected=first, change=back)
    with pytest.raises(Moved):
        ledger.put_policy_ref(None, second, expected=second, change=back)
    ledger.drop_policy_ref("acme", "gate", expected=second, change=back)
    control = ledger.control("acme")
    assert (control.policies["gate"], control.policies_since["gate"]) == (first, NOW)
    assert control.own_policies == frozenset()
    assert set(ledger.trust_changes("acme", "policy/gate")) == {own, back}
    assert ledger.trust_changes(None, "policy/gate") == (activated,)
    ledger.put_policy_ref(None, first)
    assert "gate" not in ledger.control("acme").policies_since


def test_what_was_packaged_is_remembered(ledger: Ledger) -> None:
    ledger.put_key(records.key())
    assert ledger.packaged_policies() == {}
    ledger.put_packaged("gate", "d1")
    ledger.put_packaged("reputation", "d2")
    ledger.put_packaged("gate", "d3")
    assert ledger.packaged_policies() == {"gate": "d3", "reputation": "d2"}


def test_a_cut_is_kept_where_it_moves_forward(ledger: Ledger) -> None:
    cut = TrustChange("principal/ann", TrustAction.CUT, LATER, "gov", "left")
    assert ledger.set_not_before("acme", "ann", LATER, change=cut) == LATER
    assert ledger.set_not_before("acme", "ann", NOW, change=replace(cut, at=NOW)) == LATER
    assert ledger.trust_changes("acme", "principal/ann") == (cut,)


# the past


def test_a_version_is_live_from_its_flip_to_that_of_its_successor(ledger: Ledger) -> None:
    publish(ledger)
    publish(ledger, at=LATER + timedelta(hours=1))
    first, second = ledger.version(KEY, 1), ledger.version(KEY, 2)
    assert first is not None
    assert second is not None
    assert (first.published_at, first.superseded_at) == (LATER, LATER + timedelta(hours=1))
    assert (second.published_at, second.superseded_at) == (first.superseded_at, None)
    assert head_of(ledger).recorded_at == second.published_at


def test_times_of_one_document_never_go_back(ledger: Ledger) -> None:
    publish(ledger)
    publish(ledger, at=NOW)
    first, second = ledger.version(KEY, 1), ledger.version(KEY, 2)
    assert first is not None
    assert second is not None
    assert first.superseded_at == second.published_at == LATER


def test_an_overtaken_version_was_never_live(ledger: Ledger) -> None:
    for number in (1, 2):
        ledger.accept(records.draft(KEY), expected_revision=number - 1)
    newer, older = ledger.version(KEY, 2), ledger.version(KEY, 1)
    assert newer is not None
    assert older is not None
    ledger.flip(Flip(replace(newer, **records.published(newer)), LATER))
    ledger.flip(Flip(replace(older, **records.published(older)), LATER))
    overtaken = ledger.version(KEY, 1)
    assert overtaken is not None
    assert (overtaken.state, overtaken.published_at, overtaken.superseded_at) == (
        VersionState.SUPERSEDED, None, None,
    )  # fmt: skip
    assert [kept.version for kept in ledger.acl_revisions(KEY)] == [2]


def test_every_acl_that_held_is_kept_with_its_time_and_statement(ledger: Ledger) -> None:
    assert ledger.acl_revisions(KEY) == ()
    live = publish(ledger)
    times = [LATER + timedelta(hours=hours) for hours in range(1, 5)]
    ledger.narrow(KEY, ANN, expected_revision=live.revision, at=times[0], by="ann")
    ledger.flip_acl(
        KEY,
        version=1,
        acl_revision=1,
        acl=ANN,
        statement_id="acl",
        envelope=records.envelope("acl"),
        at=times[1],
    )
    publish(ledger, at=times[2])
    erasure = Erasure("er-1", KEY, 0, "asked", "bob", times[3])
    ledger.tombstone(erasure, expected_revision=head_of(ledger).revision)
    kept = ledger.acl_revisions(KEY)
    assert [(k.version, k.acl, k.narrowed_to, k.since, k.by) for k in kept] == [
        (1, live.acl, None, LATER, None),
        (1, live.acl, ANN, times[0], "ann"),
        (1, ANN, None, times[1], None),
        (2, live.acl, None, times[2], None),
        (0, Acl(()), None, times[3], "bob"),
    ]
    assert [k.acl_revision for k in kept] == [0, 0, 1, 0, 0]
    assert kept[2].statement_id == "acl"
    assert kept[0].statement_id == kept[1].statement_id == live.statement_id
    assert kept[4].statement_id is None
    ledger.mark_erased(KEY, 2, at=times[3])
    assert ledger.acl_revisions(KEY) == kept
    ended = ledger.version(KEY, 2)
    assert ended is not None
    assert (ended.published_at, ended.superseded_at) == (times[2], times[3])


def test_a_change_of_an_acl_that_lost_is_not_kept(ledger: Ledger) -> None:
    live = publish(ledger)
    with pytest.raises(Moved):
        ledger.narrow(KEY, ANN, expected_revision=live.revision - 1, at=LATER)
    assert len(ledger.acl_revisions(KEY)) == 1


# what was superseded, and how long it is kept


def superseded(ledger: Ledger, key: DocumentKey = KEY, *, hours: int = 0) -> VersionRecord:
    """The first of two versions, superseded so many hours after LATER."""
    publish(ledger, key)
    publish(ledger, key, at=LATER + timedelta(hours=hours))
    return version_of(ledger, 1, key)


def due(ledger: Ledger, through: datetime) -> set[tuple[str, int]]:
    found = [(one.key.document_id, one.version) for one in ledger.superseded_through(through)]
    assert len(found) == len(set(found))
    return set(found)


def test_what_was_superseded_is_listed_from_its_time_on(ledger: Ledger) -> None:
    for name, hours in (("guide", 0), ("late", 1), ("zzz", 2)):
        superseded(ledger, DocumentKey("acme", name), hours=hours)
    superseded(ledger, DocumentKey("globex", "other"), hours=1)
    accept(ledger, DocumentKey("acme", "waiting"))
    publish(ledger, DocumentKey("acme", "live"))
    tick = timedelta(microseconds=1)
    assert due(ledger, LATER - tick) == set()
    assert due(ledger, LATER) == {("guide", 1)}
    assert due(ledger, LATER + timedelta(hours=1) - tick) == {("guide", 1)}
    assert due(ledger, LATER + timedelta(hours=1)) == {("guide", 1), ("late", 1), ("other", 1)}
    assert due(ledger, LATER + timedelta(days=1)) == {
        ("guide", 1), ("late", 1), ("zzz", 1), ("other", 1),
    }  # fmt: skip


def test_one_that_was_overtaken_is_listed_from_when_it_was_let_in(ledger: Ledger) -> None:
    for number in (1, 2):
        ledger.accept(records.draft(KEY), expected_revision=number - 1)
    for version in (2, 1):
        flip(ledger, version_of(ledger, version))
    assert version_of(ledger, 1).state is VersionState.SUPERSEDED
    assert due(ledger, NOW) == {("guide", 1)}


def test_an_expired_version_keeps_ids_digests_rights_and_times(ledger: Ledger) -> None:
    former = superseded(ledger)
    at = LATER + timedelta(days=30)
    marked = ledger.expire(KEY, 1, through=LATER, at=at)
    assert (
        marked == version_of(ledger, 1) == replace(former, expired_at=at, title=None, metadata={})
    )
    assert ledger.expire(KEY, 1, through=LATER, at=at + timedelta(hours=1)) == marked
    assert due(ledger, NOW - timedelta(days=999)) == {("guide", 1)}, "what was begun is due"
    ledger.let_go(KEY, 1)
    gone = version_of(ledger, 1)
    assert gone == replace(
        marked, raw=replace(former.raw, key="", size=0), chunks=None, sidecar=None
    )
    ledger.let_go(KEY, 1)
    assert ledger.expire(KEY, 1, through=LATER, at=at) == version_of(ledger, 1) == gone
    assert due(ledger, at) == set()
    assert head_of(ledger).version == 2
    assert [one.expired_at for one in ledger.versions(KEY).items] == [None, at]


def test_only_a_superseded_version_that_is_due_expires(ledger: Ledger) -> None:
    superseded(ledger, hours=1)
    accept(ledger)
    gone = DocumentKey("acme", "gone")
    superseded(ledger, gone)
    erase(ledger, key=gone)
    for version in (1, 2):
        ledger.mark_erased(gone, version, at=LATER)
    for key, version in ((KEY, 1), (KEY, 2), (KEY, 3), (gone, 1), (gone, 2)):
        before = version_of(ledger, version, key)
        assert ledger.expire(key, version, through=LATER, at=LATER) == before
        ledger.let_go(key, version)
        assert version_of(ledger, version, key) == before
    assert due(ledger, LATER + timedelta(days=1)) == {("guide", 1)}
    with pytest.raises(NotFound):
        ledger.expire(KEY, 9, through=LATER, at=LATER)


def test_an_erasure_ends_what_was_expiring(ledger: Ledger) -> None:
    superseded(ledger)
    ledger.expire(KEY, 1, through=LATER, at=LATER)
    erase(ledger)
    ledger.mark_erased(KEY, 1, at=LATER)
    erased = version_of(ledger, 1)
    assert (erased.state, erased.expired_at) == (VersionState.ERASED, LATER)
    assert due(ledger, LATER) == set()
    ledger.let_go(KEY, 1)
    assert version_of(ledger, 1) == erased


def test_a_listing_of_more_than_a_page_is_gone_through_to_its_end(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custody.adapters.dynamodb.retention._PAGE", 2)
    keys = [DocumentKey("acme", f"d{number}") for number in range(30)]
    for key in keys:
        superseded(ledger, key)
    found = set()
    for record in ledger.superseded_through(LATER):
        found.add(record.key)
        ledger.expire(record.key, 1, through=LATER, at=LATER)
        ledger.let_go(record.key, 1)
    assert found == set(keys)
    assert due(ledger, LATER) == set()


# sources


def test_a_source_is_created_read_and_replaced_on_its_revision(ledger: Ledger) -> None:
    created = ledger.put_source(records.source("acme"), expected_revision=0)
    assert created == ledger.source(WIKI) == records.source("acme", revision=1)
    with pytest.raises(Moved):
        ledger.put_source(records.source("acme"), expected_revision=0)
    changed = ledger.put_source(
        records.source("acme", trust_domain="partner", max_acl=STAFF), expected_revision=1
    )
    assert (changed.revision, changed.trust_domain, changed.max_acl) == (2, "partner", STAFF)
    with pytest.raises(Moved):
        ledger.put_source(created, expected_revision=1)
    assert ledger.source(WIKI) == changed


def test_each_change_of_a_source_is_kept_with_its_time(ledger: Ledger) -> None:
    assert ledger.source_changes(WIKI) == ()
    later = NOW + timedelta(hours=1)
    first = ledger.put_source(records.source("acme"), expected_revision=0, by="gov")
    ledger.put_source(
        replace(first, state=SourceState.QUARANTINED, updated_at=later),
        expected_revision=1,
        by="sec",
        reason="leak",
    )
    changes = ledger.source_changes(WIKI)
    assert changes == (
        SourceChange(1, SourceState.ACTIVE, "official", NOW, "gov"),
        SourceChange(2, SourceState.QUARANTINED, "official", later, "sec", "leak"),
    )
    assert ledger.source_changes(SourceKey("globex", "wiki")) == ()
    assert source_at(changes, later - timedelta(seconds=1)) == changes[0]
    assert source_at(changes, later) == changes[1]
    assert source_at(changes, NOW - timedelta(seconds=1)) is None


def test_a_change_of_a_source_that_lost_is_not_kept(ledger: Ledger) -> None:
    ledger.put_source(records.source("acme"), expected_revision=0, by="gov")
    with pytest.raises(Moved):
        ledger.put_source(records.source("acme", trust_domain="x"), expected_revision=0, by="gov")
    assert [change.revision for change in ledger.source_changes(WIKI)] == [1]


def test_many_changes_of_a_source_are_read_to_the_end(ledger: Ledger) -> None:
    for _ in range(30):
        ledger.put_source(
            records.source("acme", writers=("user:" + "w" * 200,)), expected_revision=None
        )
    assert [change.revision for change in ledger.source_changes(WIKI)] == list(range(1, 31))


def test_a_source_may_be_put_whatever_is_there(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(
                lambda _: ledger.put_source(records.source("acme"), expected_revision=None),
                range(8),
            )
        )
    stored = ledger.source(WIKI)
    assert stored is not None
    assert stored.revision == 8


def test_sources_are_listed_in_pages_of_one_tenant(ledger: Ledger) -> None:
    for number in range(5):
        ledger.put_source(records.source("acme", f"s{number}"), expected_revision=0)
    ledger.put_source(records.source("globex", "s9"), expected_revision=0)
    seen, cursor = [], None
    while True:
        page = ledger.list_sources("acme", limit=2, cursor=cursor)
        assert len(page.items) <= 2
        seen += [found.key.source_id for found in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == [f"s{number}" for number in range(5)]


# listing


def test_everybody_seals_positions_with_the_same_secret(
    make_ledger: Callable[[], Ledger],
) -> None:
    ledger, other = make_ledger(), make_ledger()
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(lambda _: ledger.make_page_secret(), range(16)):
            pass
        found = set(threads.map(lambda _: ledger.page_secret(), range(16)))
    assert len(found) == 1
    assert len(next(iter(found))) == 32
    other.make_page_secret()
    assert other.page_secret() not in found
    ledger.make_page_secret()
    assert ledger.page_secret() in found


def test_without_a_secret_no_position_can_be_sealed(ledger: Ledger) -> None:
    with pytest.raises(Unavailable) as unavailable:
        ledger.page_secret()
    assert unavailable.value.code == "policy-unavailable"


def walk(ledger: Ledger, tenant: str = "acme", limit: int = 3, **filters: str) -> list[Head]:
    wanted = {"source_id": None, "state": None, "name": None} | filters
    seen: list[Head] = []
    cursor = None
    for _ in range(100):
        page = ledger.list_heads(tenant, limit=limit, cursor=cursor, **wanted)
        assert len(page.items) <= limit
        seen += page.items
        cursor = page.next
        if cursor is None:
            return seen
    raise AssertionError("the listing has no end")


def test_heads_are_listed_by_source_and_document_in_pages(ledger: Ledger) -> None:
    expected = []
    for source_id in ("wiki", "wiki-2", "wik"):
        for number in range(9):
            key = DocumentKey("acme", f"{source_id}:d{number}")
            accept(ledger, key, source_id=source_id, name=f"n{number}")
            expected.append((source_id, key.document_id))
    accept(ledger, DocumentKey("globex", "theirs"))
    publish(ledger, DocumentKey("acme", "wiki:d4"), name="n4")
    found = [(head.source_id, head.key.document_id) for head in walk(ledger)]
    assert found == sorted(expected)
    assert found == [(h.source_id, h.key.document_id) for h in walk(ledger, limit=100)]
    of_source = [head.key.document_id for head in walk(ledger, source_id="wiki")]
    assert of_source == [f"wiki:d{number}" for number in range(9)]
    assert [h.key.document_id for h in walk(ledger, state="ACTIVE")] == ["wiki:d4"]
    named = [head.key.document_id for head in walk(ledger, name="n3")]
    assert named == ["wik:d3", "wiki:d3", "wiki-2:d3"]
    both = walk(ledger, name="n3", source_id="wiki", state="PENDING")
    assert [head.key.document_id for head in both] == ["wiki:d3"]
    assert walk(ledger, source_id="none") == []


def test_a_cursor_of_another_source_gives_nothing_beyond_the_filter(ledger: Ledger) -> None:
    for source_id in ("a", "b"):
        accept(ledger, DocumentKey("acme", f"doc-{source_id}"), source_id=source_id)
    page = ledger.list_heads(
        "acme", source_id="a", state=None, name=None, limit=5, cursor="b#doc-a"
    )
    assert page == Page(())


def test_versions_are_listed_newest_first_in_pages(ledger: Ledger) -> None:
    for _ in range(5):
        accept(ledger)
    accept(ledger, DocumentKey("acme", "guide-2"))
    first = ledger.versions(KEY, limit=2)
    second = ledger.versions(KEY, limit=2, cursor=first.next)
    third = ledger.versions(KEY, limit=2, cursor=second.next)
    pages = [[record.version for record in page.items] for page in (first, second, third)]
    assert pages == [[5, 4], [3, 2], [1]]
    assert third.next is None
    assert ledger.versions(KEY, limit=2, cursor="1") == Page(())


@pytest.mark.parametrize("cursor", ["", "-1", "x", "１", "1.5"])
def test_a_foreign_version_cursor_is_refused(ledger: Ledger, cursor: str) -> None:
    with pytest.raises(BadRequest) as refused:
        ledger.versions(KEY, cursor=cursor)
    assert refused.value.code == "invalid-cursor"


# control and view


def test_without_a_control_item_nothing_is_judged(ledger: Ledger) -> None:
    publish(ledger)
    with pytest.raises(NoControlItem) as missing:
        ledger.view("acme", "ann", [KEY], [WIKI])
    assert missing.value.code == "policy-unavailable"
    with pytest.raises(NoControlItem):
        ledger.control("acme")
    with pytest.raises(NoControlItem):
        ledger.ping()


def test_a_tenants_policy_stands_before_the_services(ledger: Ledger) -> None:
    default, own = PolicyRef("gate", "1", "d1"), PolicyRef("gate", "2", "d2")
    reputation = PolicyRef("reputation", "1", "d3")
    ledger.put_key(records.key())
    ledger.put_policy_ref(None, default)
    ledger.put_policy_ref(None, reputation)
    ledger.put_policy_ref("acme", own)
    assert dict(ledger.control("acme").policies) == {"gate": own, "reputation": reputation}
    assert dict(ledger.control("globex").policies) == {"gate": default, "reputation": reputation}
    assert dict(ledger.control("acme").keys) == {"key-1": records.key()}


def test_every_change_of_control_moves_the_epoch(ledger: Ledger) -> None:
    ledger.put_key(records.key())
    epochs = [ledger.control("acme").epoch]
    changes: tuple[Callable[[], None], ...] = (
        lambda: ledger.put_key(records.key("key-2")),
        lambda: ledger.put_policy_ref(None, PolicyRef("gate", "1", "d1")),
        lambda: ledger.put_policy_ref("acme", PolicyRef("gate", "2", "d2")),
        lambda: ledger.put_trust_domains("acme", frozenset({"official"})),
    )
    for change in changes:
        change()
        epochs.append(ledger.control("acme").epoch)
    assert epochs == sorted(set(epochs))
    for change in changes:
        change()
    assert ledger.control("acme").epoch == epochs[-1]


def test_trust_domains_are_all_until_a_tenant_limits_them(ledger: Ledger) -> None:
    ledger.put_key(records.key())
    assert ledger.control("acme").trust_domains is None
    ledger.put_trust_domains("acme", frozenset())
    assert ledger.control("acme").trust_domains == frozenset()
    ledger.put_trust_domains("acme", frozenset({"official", "partner"}))
    assert ledger.control("acme").trust_domains == frozenset({"official", "partner"})
    assert ledger.control("globex").trust_domains is None
    ledger.put_trust_domains("acme", None)
    assert ledger.control("acme").trust_domains is None


def test_a_revoked_key_stays_revoked(ledger: Ledger) -> None:
    ledger.put_key(records.key(state=KeyState.REVOKED))
    for state in (KeyState.ACTIVE, KeyState.RETIRED):
        with pytest.raises(Conflict) as refused:
            ledger.put_key(records.key(state=state))
        assert refused.value.code == "key-revoked"
    assert ledger.control("acme").keys["key-1"].state is KeyState.REVOKED
    ledger.put_key(records.key("key-2", KeyState.RETIRED))
    ledger.put_key(records.key("key-2"))
    assert ledger.control("acme").keys["key-2"].state is KeyState.ACTIVE


def test_eight_keys_put_at_once_all_stay(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: ledger.put_key(records.key(f"k{number}")), range(8)))
    for _ in range(10):
        assert set(ledger.control("acme").keys) == {f"k{number}" for number in range(8)}


def test_not_before_only_moves_forward(ledger: Ledger) -> None:
    ledger.put_key(records.key())
    assert ledger.view("acme", "ann", [], []).not_before is None
    ledger.set_not_before("acme", "ann", LATER)
    ledger.set_not_before("acme", "ann", NOW)
    assert ledger.view("acme", "ann", [], []).not_before == LATER
    ledger.set_not_before("acme", "ann", LATER + timedelta(days=1))
    assert ledger.view("acme", "ann", [], []).not_before == LATER + timedelta(days=1)
    assert ledger.view("acme", "bob", [], []).not_before is None
    assert ledger.view("globex", "ann", [], []).not_before is None


def test_standing_tells_what_the_ledger_says_now(ledger: Ledger) -> None:
    missing = DocumentKey("acme", "missing")
    ledger.put_key(records.key())
    stored = ledger.put_source(records.source("acme"), expected_revision=0)
    publish(ledger)
    view = ledger.view(
        "acme", "ann", [KEY, KEY, missing], [WIKI, WIKI, SourceKey("acme", "missing")]
    )
    assert dict(view.heads) == {KEY: head_of(ledger)}
    assert dict(view.sources) == {WIKI: stored}
    assert view.control == ledger.control("acme")
    erase(ledger)
    after = ledger.view("acme", "ann", [KEY], [WIKI])
    assert after.heads[KEY].state is VersionState.ERASED


def test_standing_reads_four_hundred_heads(ledger: Ledger) -> None:
    ledger.put_key(records.key())
    keys = [DocumentKey("acme", f"d{number}") for number in range(400)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda key: accept(ledger, key), keys))
    view = ledger.view("acme", "ann", keys, [])
    assert set(view.heads) == set(keys)
    assert all(view.heads[key].key == key for key in keys)


# reading every head


def every_head(ledger: Ledger, tenant: str = "acme", cursor: str | None = None) -> list[Head]:
    found: list[Head] = []
    while True:
        page = ledger.scan_heads(tenant, cursor=cursor)
        found += page.items
        if page.next is None:
            return found
        cursor = page.next


def test_a_scan_finds_every_head_of_the_tenant_as_it_is_now(ledger: Ledger) -> None:
    assert every_head(ledger) == []
    keys = [DocumentKey("acme", f"d{n}") for n in range(250)]
    for key in keys:
        accept(ledger, key)
    accept(ledger, DocumentKey("acm", "other"))
    accept(ledger, DocumentKey("acme2", "other"))
    publish(ledger, keys[7])
    erase(ledger, key=keys[7])
    heads = {head.key: head for head in every_head(ledger)}
    assert heads.keys() == set(keys)
    assert all(heads[key] == ledger.head(key) for key in keys)
    assert heads[keys[7]].state is VersionState.ERASED


def test_a_scan_goes_on_after_any_head(ledger: Ledger) -> None:
    for n in range(20):
        accept(ledger, DocumentKey("acme", f"d{n}"))
    heads = every_head(ledger)
    for place, head in enumerate(heads):
        assert every_head(ledger, cursor=ledger.cursor_after(head)) == heads[place + 1 :]
