"""What was live moves into the history: found once at every moment by whoever asks both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.application.ingestion.change_acl import AclRequest
from custody.application.ports import Flip
from custody.domain.index.candidates import IndexEntry, LegQuery, SearchFilter, Space
from custody.domain.jobs import CleanupJob, PublishJob
from custody.domain.ledger.erasures import ErasureState
from custody.domain.model import Acl, DocumentKey, Head, Leg
from custody.errors import IntegrityError, Unavailable
from tests.support.ingest_world import KINDS, TENANT, WRITER, Crash, World, request

GUIDE = DocumentKey(TENANT, "guide")
BOTH = (Space.of(GUIDE), Space.history_of(GUIDE))


@pytest.fixture
def world() -> World:
    world = World()
    world.source()
    return world


def found(world: World, *terms: str) -> Counter[tuple[int, str]]:
    """(version, text) of what is proposed to whoever asks both spaces, and how often."""
    query = LegQuery(
        BOTH,
        SearchFilter(frozenset(terms or ("group:staff",)), world.clock.time),
        depth=50,
        legs=frozenset({Leg.SEMANTIC}),
        vector=world.embedder.embed_query("x"),
        model_revision=world.embedder.revision,
    )
    hits = world.index.search(query)[Leg.SEMANTIC]
    return Counter((hit.entry.version, hit.entry.text) for hit in hits)


def past(world: World) -> list[IndexEntry]:
    return sorted(world.index.past.visible(), key=lambda entry: (entry.version, entry.ordinal))


def test_a_superseded_version_is_kept_with_its_times_and_vectors(world: World) -> None:
    world.post_document(WRITER, request(text="one\ntwo"))
    vectors = {entry.text: entry.vector for entry in world.index.visible()}
    world.post_document(WRITER, request(text="three"))
    world.work()
    assert [entry.text for entry in world.index.visible()] == ["three"]
    record, successor = world.ledger.version(GUIDE, 1), world.ledger.version(GUIDE, 2)
    assert record is not None
    assert successor is not None
    kept = past(world)
    assert [entry.text for entry in kept] == ["one", "two"]
    for entry in kept:
        assert (entry.recorded_from, entry.recorded_through) == (
            record.published_at,
            successor.published_at,
        )
        assert entry.vector is not None
        assert (entry.vector == vectors[entry.text]).all()
    (live,) = world.index.visible()
    assert live.recorded_from is not None
    assert successor.published_at is not None
    assert live.recorded_from <= successor.published_at
    assert live.recorded_through is None
    assert world.texts() == {"three"}


def test_a_version_that_never_was_live_has_no_past(world: World) -> None:
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="overtaken"))
    world.post_document(WRITER, request(text="newest"))
    waiting: list[PublishJob] = []
    world.queue.drain(dict.fromkeys(KINDS, world.handle) | {PublishJob: waiting.append})
    for job in sorted(waiting, key=lambda job: -job.version):
        world.handle(job)
    world.work()
    assert world.texts() == {"newest"}
    assert past(world) == []
    assert found(world) == {(2, "newest"): 1}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(1, 20))
def test_killed_at_any_step_it_is_found_once_by_whoever_asks_both(
    world: World, at: int, after: bool
) -> None:
    world.post_document(WRITER, request(text="one\ntwo"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="three"))
    moves: list[CleanupJob] = []
    world.queue.drain(dict.fromkeys(KINDS, world.handle) | {CleanupJob: moves.append})
    assert moves == [CleanupJob(GUIDE, 1)]
    world.killer.calls, world.killer.at, world.killer.after = 0, at, after
    whole = {(1, "one"): 1, (1, "two"): 1, (2, "three"): 1}
    try:
        world.clean_up_superseded(moves[0])
    except Crash:
        assert found(world) == whole
    world.killer.at = None
    for _ in range(2):
        world.clean_up_superseded(moves[0])
        assert found(world) == whole
    assert [entry.text for entry in world.index.visible()] == ["three"]
    assert [entry.text for entry in past(world)] == ["one", "two"]


def test_what_the_history_does_not_show_stays_among_the_live_ones(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post_document(WRITER, request(text="one"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="two"))
    monkeypatch.setattr(world.index.past, "refresh", lambda spaces: None)
    with pytest.raises(IntegrityError) as refused:
        world.work()
    assert refused.value.code == "index-incomplete"
    assert found(world) == {(1, "one"): 1, (2, "two"): 1}


def test_a_version_that_can_still_be_found_among_the_live_ones_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post_document(WRITER, request(text="one"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="two"))
    with monkeypatch.context() as patch:
        patch.setattr(world.index, "delete", lambda *_, **__: None)
        with pytest.raises(Unavailable):
            world.work()
    world.clean_up_superseded(CleanupJob(GUIDE, 1))
    assert [entry.text for entry in world.index.visible()] == ["two"]


def test_a_move_that_broke_off_leaves_nothing_of_a_version_that_was_erased_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post_document(WRITER, request(text="secret"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="next"))
    moves: list[CleanupJob] = []
    world.queue.drain(dict.fromkeys(KINDS, world.handle) | {CleanupJob: moves.append})
    put = world.index.put

    def killed(space: Space, entries: Sequence[IndexEntry]) -> None:
        world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
        world.work()
        put(space, entries)
        world.index.refresh([space])
        raise Crash("after put")

    with monkeypatch.context() as patch:
        patch.setattr(world.index, "put", killed)
        with pytest.raises(Crash):
            world.handle(moves[0])
    assert past(world)
    world.handle(moves[0])
    assert past(world) == []


def test_an_erasure_reaches_the_history(world: World) -> None:
    for text in ("secret one", "secret two", "secret three"):
        world.post_document(WRITER, request(text=text))
    world.work()
    assert len(past(world)) == 2
    erasure = world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
    world.work()
    assert past(world) == []
    assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE


def test_no_receipt_is_complete_while_the_history_holds_a_chunk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("secret one", "secret two"):
        world.post_document(WRITER, request(text=text))
    world.work()
    erasure = world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
    with monkeypatch.context() as patch:
        patch.setattr(world.index.past, "delete", lambda *_, **__: None)
        with pytest.raises(Unavailable):
            world.work()
    assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.PARTIAL


def test_a_move_that_comes_late_brings_nothing_of_an_erased_document_back(world: World) -> None:
    world.post_document(WRITER, request(text="secret one"))
    world.post_document(WRITER, request(text="secret two"))
    world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
    world.clean_up_superseded(CleanupJob(GUIDE, 1))
    world.work()
    world.clean_up_superseded(CleanupJob(GUIDE, 1))
    assert past(world) == []
    assert world.index.visible() == ()


def test_an_erasure_in_the_middle_of_a_move_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post_document(WRITER, request(text="secret one"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="secret two"))
    real = world.index.put

    def erased_meanwhile(space: Space, entries: list[IndexEntry]) -> None:
        if space.history:
            monkeypatch.setattr(world.index, "put", real)
            world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
            for version in (1, 2):
                world.ledger.mark_erased(GUIDE, version, at=world.clock.time)
        real(space, entries)

    monkeypatch.setattr(world.index, "put", erased_meanwhile)
    world.work()
    assert past(world) == []
    assert world.index.visible() == ()


def test_a_change_of_the_acl_holds_for_the_past_too(world: World) -> None:
    for text in ("one", "two", "three"):
        world.post_document(WRITER, request(text=text))
    world.work()
    assert found(world, "user:bob") == {}
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    world.work()
    assert set(found(world, "user:bob")) == {(1, "one"), (2, "two"), (3, "three")}
    assert found(world, "group:staff") == {}


def test_the_acl_of_a_new_version_holds_for_the_past_too(world: World) -> None:
    world.post_document(WRITER, request(text="one"))
    world.post_document(WRITER, request(text="two"))
    world.post_document(WRITER, request(text="three", acl=("user:bob",)))
    world.work()
    assert {entry.acl for entry in past(world)} == {("user:bob",)}


def test_an_acl_that_changes_in_the_middle_of_a_move_holds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post_document(WRITER, request(text="one"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="two"))
    real = world.index.put

    def narrowed_meanwhile(space: Space, entries: list[IndexEntry]) -> None:
        if space.history:
            monkeypatch.setattr(world.index, "put", real)
            world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
            world.work()
        real(space, entries)

    monkeypatch.setattr(world.index, "put", narrowed_meanwhile)
    world.work()
    assert {entry.acl for entry in past(world)} == {("user:bob",)}


def test_a_publisher_that_was_killed_after_the_flip_leaves_no_former_version_behind(
    world: World,
) -> None:
    """Its successor went live before it was delivered again."""
    world.post_document(WRITER, request(text="one"))
    world.while_waiting = lambda: None
    for text in ("two", "three"):
        world.post_document(WRITER, request(text=text))
    waiting: list[PublishJob] = []
    world.queue.drain(dict.fromkeys(KINDS, world.handle) | {PublishJob: waiting.append})
    second, third = sorted(waiting, key=lambda job: job.version)
    real = world.ledger.flip

    def flip(flip: Flip) -> Head | None:
        real(flip)
        raise Crash("after flip")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.ledger, "flip", flip)
        world._build()
        with pytest.raises(Crash):
            world.handle(second)
    world._build()
    world.handle(third)
    world.handle(second)
    world.work()
    assert [entry.text for entry in world.index.visible()] == ["three"]
    assert [entry.text for entry in past(world)] == ["one", "two"]


def test_a_version_that_was_overtaken_hides_no_former_version(world: World) -> None:
    """It was killed between the flip and the job that moves the former one."""
    world.post_document(WRITER, request(text="one"))
    world.while_waiting = lambda: None
    for text in ("overtaken", "three"):
        world.post_document(WRITER, request(text=text))
    waiting: list[PublishJob] = []
    world.queue.drain(dict.fromkeys(KINDS, world.handle) | {PublishJob: waiting.append})
    overtaken, third = sorted(waiting, key=lambda job: job.version)
    real = world.ledger.flip

    def flip(flip: Flip) -> Head | None:
        real(flip)
        raise Crash("after flip")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.ledger, "flip", flip)
        world._build()
        with pytest.raises(Crash):
            world.handle(third)
    world._build()
    world.handle(overtaken)
    world.handle(third)
    world.work()
    assert [entry.text for entry in world.index.visible()] == ["three"]
    assert [entry.text for entry in past(world)] == ["one"]


def test_an_acl_that_changes_while_the_history_follows_another_change_is_not_undone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post_document(WRITER, request(text="one"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="two"))
    moves: list[CleanupJob] = []
    world.queue.drain(dict.fromkeys(KINDS, world.handle) | {CleanupJob: moves.append})
    wanted = iter([("user:zoe",), ("group:staff", "user:bob")])
    real = world.index.past.set_acl

    def set_acl(space: Space, key: DocumentKey, version: int | None, acl: Acl) -> None:
        """Another change is asked for, signed and put in force before this one arrives."""
        change = next(wanted, None)
        if change is not None:
            world.change_acl(WRITER, AclRequest("guide", change))
            with monkeypatch.context() as patch:
                patch.setattr(world.index.past, "set_acl", real)
                world.work()
        real(space, key, version, acl)

    monkeypatch.setattr(world.index.past, "set_acl", set_acl)
    world.clean_up_superseded(moves[0])
    assert next(wanted, None) is None
    assert [entry.acl for entry in past(world)] == [("group:staff", "user:bob")]
    assert [entry.acl for entry in world.index.visible()] == [("group:staff", "user:bob")]
