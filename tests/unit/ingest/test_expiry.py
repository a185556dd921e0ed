"""Superseded versions are kept as long as was set, then go whole, and nothing else goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from custody.application.erasure.expire_superseded import (
    LONGEST_RUN,
    Expired,
    ExpireSuperseded,
)
from custody.application.erasure.request import ErasureRequest
from custody.application.ports import Retention
from custody.domain.index.candidates import IndexEntry, Space
from custody.domain.jobs import CleanupJob, EmbedJob, Job, ParseJob, PublishJob
from custody.domain.model import DocumentKey, VersionRecord, VersionState
from custody.domain.storage import object_keys
from tests.support.ingest_world import (
    GOVERNOR,
    KINDS,
    TENANT,
    WRITER,
    Crash,
    World,
    request,
)
from tests.support.interposed import interposed

GUIDE = DocumentKey(TENANT, "guide")
MONTH = timedelta(days=30)


@pytest.fixture
def world() -> World:
    """Two superseded versions of the guide, a live third one, and another document."""
    return started()


def started() -> World:
    world = World()
    world.source()
    for text in ("first", "second\nmore", "third"):
        world.post_document(WRITER, request(text=text, title="A title"))
    world.post_document(WRITER, request("other", "else"))
    return world


def expiring(
    world: World,
    keep: timedelta | None = MONTH,
    *,
    ledger: Retention | None = None,
) -> ExpireSuperseded:
    ports = world.ports
    return ExpireSuperseded(ledger or ports.work, ports.objects, ports.index, world.clock, keep)


def pass_time(world: World, time: timedelta) -> None:
    world.clock.sleep(time.total_seconds())


def record(world: World, version: int) -> VersionRecord:
    found = world.ledger.version(GUIDE, version)
    assert found is not None
    return found


def every(world: World) -> list[VersionRecord]:
    return [one for found in world.ledger._versions.values() for one in found.values()]


def present(world: World) -> set[str]:
    """Every key that has any version."""
    return {key for key in world.objects._versions if world.objects.exists(key)}


def files(world: World, *versions: int) -> set[str]:
    """Of these versions of the guide."""
    places = [
        f"{object_keys.folder(kind, GUIDE)}{version}"
        for kind in ("raw", "evidence", "vectors")
        for version in versions
    ]
    return {key for key in present(world) for place in places if f"{key}/".startswith(f"{place}/")}


def end(world: World) -> tuple[Mapping[int, VersionRecord], object, object, object]:
    """All that an expiry may change or must leave."""
    return (
        {version: record(world, version) for version in (1, 2, 3)},
        present(world),
        [
            sorted((entry.key.document_id, entry.version) for entry in index.visible())
            for index in (world.index, world.index.past)
        ],
        world.texts(),
    )


def test_where_nothing_is_set_every_version_is_kept(world: World) -> None:
    before = end(world)
    pass_time(world, 1000 * MONTH)
    assert world.service.expire_superseded() == Expired(0, ())
    assert end(world) == before
    assert len(files(world, 1)) == len(files(world, 2)) == 3


def test_what_was_superseded_long_enough_ago_goes_and_its_record_stays(world: World) -> None:
    former, live = record(world, 1), record(world, 3)
    kept = files(world, 3)
    assert {entry.version for entry in world.index.past.visible()} == {1, 2}
    pass_time(world, MONTH)
    assert expiring(world)() == Expired(2, ())
    assert files(world, 1, 2) == set()
    assert files(world, 3) == kept
    assert world.index.past.visible() == ()
    gone = record(world, 1)
    assert gone.expired_at is not None
    assert gone == replace(
        former,
        expired_at=gone.expired_at,
        title=None,
        metadata={},
        raw=replace(former.raw, key="", size=0),
        chunks=None,
    )
    assert gone.superseded_at is not None
    assert gone.expired_at >= gone.superseded_at + MONTH
    assert record(world, 3) == live
    assert world.texts() == {"third", "else"}
    assert expiring(world)() == Expired(0, ())


def test_a_version_is_kept_from_when_it_was_superseded_not_from_when_it_came(
    world: World,
) -> None:
    pass_time(world, MONTH - timedelta(hours=1))
    world.post_document(WRITER, request(text="fourth"))
    assert expiring(world)() == Expired(0, ())
    pass_time(world, timedelta(hours=1))
    assert expiring(world)() == Expired(2, ())
    assert [record(world, version).expired_at is None for version in (1, 2, 3, 4)] == [
        False, False, True, True,
    ]  # fmt: skip


def test_one_that_was_overtaken_before_it_was_live_goes_too(world: World) -> None:
    world.while_waiting = lambda: None
    for text in ("fourth", "fifth"):
        world.post_document(WRITER, request(text=text))
    late: list[Job] = []

    def handle(job: Job) -> None:
        if isinstance(job, PublishJob) and job.version == 4:
            late.append(job)
        else:
            world.handle(job)

    world.queue.drain(dict.fromkeys(KINDS, handle))
    world.handle(late[0])
    world.work()
    overtaken = record(world, 4)
    assert (overtaken.state, overtaken.superseded_at) == (VersionState.SUPERSEDED, None)
    assert files(world, 4)
    pass_time(world, MONTH)
    expiring(world)()
    assert files(world, 4) == set()
    assert world.texts() == {"fifth", "else"}


def test_the_document_tells_what_has_expired(world: World) -> None:
    pass_time(world, MONTH)
    expiring(world)()
    shown = world.documents.show(GOVERNOR, "guide")
    assert [one.version for one in shown.versions if one.expired_at is not None] == [2, 1]
    proof = world.documents.provenance(GOVERNOR, "guide", 1)
    assert (proof.state, proof.envelope) == (VersionState.SUPERSEDED, record(world, 1).envelope)


def test_killed_between_any_two_steps_it_is_finished_by_the_next_run() -> None:
    undisturbed = started()
    pass_time(undisturbed, MONTH)
    undisturbed.killer.calls = 0
    expiring(undisturbed)()
    calls, expected = undisturbed.killer.calls, end_state(undisturbed)
    assert calls > 15
    for call in range(1, calls + 1):
        for after in (False, True):
            world = started()
            pass_time(world, MONTH)
            world.killer.calls, world.killer.at, world.killer.after = 0, call, after
            with pytest.raises(Crash):
                expiring(world)()
            assert world.texts() == {"third", "else"}
            named = {version for version in (1, 2) if record(world, version).raw.key}
            left = {version for version in (1, 2) if files(world, version)}
            left |= {entry.version for entry in world.index.past.visible()}
            assert left <= named, "something is left of what no record names"
            assert expiring(world)().failures == ()
            assert end_state(world) == expected, (call, after)


def end_state(world: World) -> object:
    """``end`` without what differs from world to world: signatures and times."""
    records, *rest = end(world)
    plain = {
        version: replace(one, envelope=None, expired_at=None) for version, one in records.items()
    }
    expired = {version for version, one in records.items() if one.expired_at is not None}
    return plain, expired, rest


def test_what_was_begun_is_finished_however_long_versions_are_kept_by_now() -> None:
    for keep in (None, 100 * MONTH):
        world = started()
        pass_time(world, MONTH)
        world.killer.calls, world.killer.at = 0, 3  # listed, marked, and killed
        with pytest.raises(Crash):
            expiring(world)()
        assert files(world, 1)
        assert expiring(world, keep)() == Expired(1, ())
        assert files(world, 1) == set()
        assert len(files(world, 2)) == 3


def test_whatever_is_listed_nothing_but_a_superseded_version_that_is_due_is_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    monkeypatch.setattr(world.ledger, "superseded_through", lambda _: iter(every(world)))
    world.source()
    world.post_document(WRITER, request("erased", "gone"))
    world.erasures.request(WRITER, ErasureRequest("erased", "asked"))
    world.work()
    world.post_document(WRITER, request(text="old"))
    world.post_document(WRITER, request(text="live"))
    pass_time(world, MONTH)
    world.post_document(WRITER, request("young", "former"))
    world.post_document(WRITER, request("young", "present"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="waiting"))
    before = every(world)
    kept = present(world) - files(world, 1)
    assert expiring(world)() == Expired(1, ())
    changed = [one for one in every(world) if one not in before]
    assert [(one.key, one.version) for one in changed] == [(GUIDE, 1)]
    assert present(world) == kept
    world.work()
    assert world.texts() == {"waiting", "present"}


def test_one_that_is_erased_between_the_look_and_the_mark_is_left_to_the_erasure(
    world: World,
) -> None:
    pass_time(world, MONTH)

    def hook(name: str, call: Callable[[], object]) -> object:
        if name == "expire":
            world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
            world.work()
        return call()

    assert expiring(world, ledger=interposed(world.ledger, hook))() == Expired(0, ())
    assert {record(world, version).state for version in (1, 2, 3)} == {VersionState.ERASED}
    assert {record(world, version).expired_at for version in (1, 2, 3)} == {None}


def test_one_that_is_erased_after_the_mark_stays_erased(world: World) -> None:
    pass_time(world, MONTH)

    def hook(name: str, call: Callable[[], object]) -> object:
        if name == "let_go":
            world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
            world.work()
        return call()

    expiring(world, ledger=interposed(world.ledger, hook))()
    one = record(world, 1)
    assert (one.state, one.expired_at is not None) == (VersionState.ERASED, True)
    assert world.texts() == {"else"}
    assert files(world, 1, 2, 3) == set()


def test_one_that_fails_is_told_and_the_others_go(world: World) -> None:
    pass_time(world, MONTH)
    kept = next(key for key in files(world, 1) if key.startswith("evidence/"))
    world.objects.delete = keeping(world.objects.delete, kept)  # type: ignore[method-assign,assignment]  # a store that forgets
    done = expiring(world, ledger=world.ledger)()
    assert (done.versions, [one.error.code for one in done.failures]) == (1, ["store-unavailable"])
    assert record(world, 1).raw.key
    assert files(world, 2) == set()


def keeping(delete: Callable[[str], int], kept: str) -> Callable[[str], int]:
    return lambda prefix: 0 if kept.startswith(prefix) else delete(prefix)


def test_raw_bytes_that_are_not_deleted_are_not_told_as_gone(world: World) -> None:
    pass_time(world, MONTH)
    delete = world.objects.delete_object
    world.objects.delete_object = (  # type: ignore[method-assign]  # a store that forgets
        lambda key, *, keep=(): 1 if key.startswith("raw/") else delete(key, keep=keep)
    )
    done = expiring(world, ledger=world.ledger)()
    assert (done.versions, len(done.failures)) == (0, 2)


def test_entries_that_are_still_in_the_index_go_too(world: World) -> None:
    """The clean-up of a superseded version may be later than its end."""
    entries = [
        replace(one, version=1, chunk_id="late")
        for one in world.index.visible()
        if one.key == GUIDE
    ]
    world.index.put(Space.of(GUIDE), entries)
    world.index.refresh([Space.of(GUIDE)])
    assert {one.version for one in world.index.visible() if one.key == GUIDE} == {1, 3}
    pass_time(world, MONTH)
    assert expiring(world)() == Expired(2, ())
    assert {one.version for one in world.index.visible() if one.key == GUIDE} == {3}


@pytest.mark.parametrize("history", [False, True])
def test_entries_that_are_not_gone_are_not_told_as_gone(
    world: World, monkeypatch: pytest.MonkeyPatch, history: bool
) -> None:
    pass_time(world, MONTH)
    monkeypatch.setattr(world.index, "left", lambda space, *_: int(space.history is history))
    done = expiring(world)()
    assert (done.versions, {one.error.code for one in done.failures}) == (0, {"index-unavailable"})
    assert record(world, 1).raw.key


@pytest.mark.parametrize("broken_off", [False, True])
def test_a_move_into_the_history_that_expiry_overtakes_leaves_nothing_there(
    world: World, monkeypatch: pytest.MonkeyPatch, broken_off: bool
) -> None:
    pass_time(world, MONTH)
    put = world.index.put

    def overtaken(space: Space, entries: Sequence[IndexEntry]) -> None:
        expiring(world, ledger=world.ledger)()
        put(space, entries)
        world.index.refresh([space])
        assert world.index.past.visible()
        if broken_off:
            raise Crash("after put")

    with monkeypatch.context() as patch:
        patch.setattr(world.index, "put", overtaken)
        if broken_off:
            with pytest.raises(Crash):
                world.handle(CleanupJob(GUIDE, 1))
        else:
            world.handle(CleanupJob(GUIDE, 1))
    if broken_off:
        world.handle(CleanupJob(GUIDE, 1))
    assert world.index.past.visible() == ()
    assert world.texts() == {"third", "else"}


def test_late_steps_of_an_expired_version_bring_nothing_back(world: World) -> None:
    pass_time(world, MONTH)
    expiring(world)()
    before = end(world)
    for place in (
        object_keys.chunks(GUIDE, 1),
        object_keys.vectors(GUIDE, 1, world.embedder.revision, 0),
    ):
        world.objects.put(place, b"late", content_type="binary/octet-stream")
    for job in (
        ParseJob(GUIDE, 1),
        EmbedJob(GUIDE, 1, 0, 0, 1),
        PublishJob(GUIDE, 1),
        CleanupJob(GUIDE, 1),
    ):
        world.handle(job)
    world.work()
    assert end(world) == before


def test_a_long_run_leaves_the_rest_to_the_next_one() -> None:
    world = started()
    pass_time(world, MONTH)
    world.clock.step = LONGEST_RUN * 0.6
    assert expiring(world)() == Expired(1, (), unfinished=True)
    assert expiring(world)() == Expired(1, ())
