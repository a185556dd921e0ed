"""The history is built anew, and what waits for its move into it is lost by neither."""

from __future__ import annotations

from dataclasses import replace

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.application.ingestion.change_acl import AclRequest
from custody.domain.index.builds import BuildState
from custody.domain.jobs import CleanupJob, EraseJob, Job, RebuildJob
from custody.domain.model import BuildKey, DocumentKey
from custody.domain.provenance import index_statement
from tests.support.ingest_world import KINDS, TENANT, WRITER
from tests.support.rebuild_world import ACME, PAST, RebuildWorld

DOC = DocumentKey(TENANT, "d1")
HISTORY = BuildKey(TENANT, "history-1")


def prepared(world: RebuildWorld) -> None:
    """d0 has one version, d1 three, d2 two."""
    for name, versions in (("d0", 1), ("d1", 3), ("d2", 2)):
        for version in range(1, versions + 1):
            world.publish_document(name, f"alpha {name} {version}\nbeta")
    world.work()


def served(world: RebuildWorld) -> str:
    (name,) = {each.name for each in world.index.generations(PAST) if each.served}
    return name


def in_history(world: RebuildWorld) -> dict[tuple[str, int], int]:
    keys = [DocumentKey(TENANT, f"d{n}") for n in range(3)]
    counted = world.index.counts_in(PAST, served(world), keys)
    return {(key.document_id, version): count for (key, version), count in counted.items()}


WHOLE = {("d1", 1): 2, ("d1", 2): 2, ("d2", 1): 2}


def test_the_history_is_built_anew_with_its_times(world: RebuildWorld) -> None:
    prepared(world)
    assert in_history(world) == WHOLE
    before, old = world.proposed("alpha", space=PAST), served(world)
    world.begin()
    world.work()
    build = world.build(HISTORY)
    assert (build.state, build.versions, build.chunks) == (BuildState.SERVED, 3, 6)
    assert served(world) == build.index != old
    assert in_history(world) == WHOLE
    assert world.proposed("alpha", space=PAST) == before
    assert all(entry.recorded_through for entry in before)
    assert build.envelope is not None
    assert index_statement.parse(build.envelope.payload).space == "history"
    world.later(200)
    world.work()
    assert len(world.index.generations(PAST)) == len(world.index.generations(ACME)) == 1


def test_a_tenant_without_a_past_gets_no_history(world: RebuildWorld) -> None:
    world.publish_document("d0")
    world.begin()
    world.work()
    build = world.build(HISTORY)
    assert (build.state, build.reason) == (BuildState.ABANDONED, "nothing-to-index")
    assert world.index.generations(PAST) == ()


def do_all_but(world: RebuildWorld, *kinds: type[Job]) -> list[Job]:
    """Jobs of these kinds wait, as do builds, which go back to the queue."""
    kept: list[Job] = []
    waiting = (*kinds, RebuildJob)
    world.queue.drain({kind: kept.append if kind in waiting else world.handle for kind in KINDS})
    world.queue.send([job for job in kept if isinstance(job, RebuildJob)])
    return [job for job in kept if not isinstance(job, RebuildJob)]


def supersede_and_hold(world: RebuildWorld) -> list[Job]:
    world.while_waiting = lambda: None
    world.publish_document("d1", "alpha d1 four\nbeta")
    return do_all_but(world, CleanupJob)


def test_a_version_that_waits_for_its_move_is_found_among_the_live_ones_until_then(
    world: RebuildWorld,
) -> None:
    prepared(world)
    moves = supersede_and_hold(world)
    assert moves == [CleanupJob(DOC, 3)]
    key = world.begin()
    world.run(key)
    name = world.build(key).index or ""
    assert world.served_name() == name
    assert world.index.counts_in(ACME, name, [DOC]) == {(DOC, 3): 2, (DOC, 4): 2}
    world.queue.send(moves)
    world.work()
    assert world.index.counts_in(ACME, name, [DOC]) == {(DOC, 4): 2}
    assert in_history(world)["d1", 3] == 2


@pytest.mark.parametrize("moment", range(1, 80, 2))
def test_a_move_between_any_two_steps_leaves_each_version_in_one_place(
    world: RebuildWorld, moment: int
) -> None:
    prepared(world)
    (move,) = supersede_and_hold(world)
    assert isinstance(move, CleanupJob)
    seen: list[set[tuple[str, int]]] = []

    def both() -> None:
        live = {(e.key.document_id, e.version) for e in world.proposed("alpha")}
        past = {(e.key.document_id, e.version) for e in world.proposed("alpha", space=PAST)}
        assert live | past == set(WHOLE) | {("d0", 1), ("d1", 3), ("d1", 4), ("d2", 2)}
        seen.append(live & past)

    world.interrupter.moment = moment
    world.interrupter.act = lambda: world.handle(move)
    world.interrupter.check = both
    key = world.begin()
    world.run(key)
    if world.interrupter.watched < moment:
        world.handle(move)
    both()
    assert seen[-1] == set()
    world.work()
    both()
    assert seen[-1] == set()
    assert in_history(world) == WHOLE | {("d1", 3): 2}


@pytest.mark.parametrize("moment", range(1, 60, 2))
def test_what_is_superseded_between_any_two_steps_is_in_the_new_history(
    world: RebuildWorld, moment: int
) -> None:
    prepared(world)
    world.begin()

    def happen() -> None:
        for move in supersede_and_hold(world):
            world.handle(move)

    world.interrupter.moment, world.interrupter.act = moment, happen
    world.run(HISTORY)
    if world.interrupter.watched < moment:
        happen()
    assert world.build(HISTORY).state is BuildState.SERVED
    assert in_history(world) == WHOLE | {("d1", 3): 2}
    assert world.index.counts_in(ACME, world.served_name(), [DOC]) == {(DOC, 4): 2}


@pytest.mark.parametrize("moment", range(1, 60, 3))
def test_an_acl_and_an_erasure_reach_a_history_that_is_being_built(
    world: RebuildWorld, moment: int
) -> None:
    prepared(world)
    world.begin()

    def happen() -> None:
        world.while_waiting = lambda: None
        world.change_acl(WRITER, AclRequest("d2", ("user:zoe",)))
        world.erasures.request(WRITER, ErasureRequest("d1", "it is over"))
        world.queue.send(do_all_but(world, EraseJob))

    world.interrupter.moment, world.interrupter.act = moment, happen
    world.run(HISTORY)
    if world.interrupter.watched < moment:
        happen()
    world.work()
    assert world.build(HISTORY).state is BuildState.SERVED
    assert in_history(world) == {("d2", 1): 2}
    zoe = replace(world.wanted(), acl_terms=frozenset({"user:zoe"}))
    assert {e.version for e in world.proposed("alpha", space=PAST, only=zoe)} == {1}
    assert world.proposed("alpha", space=PAST) == []
