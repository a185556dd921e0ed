"""A receipt isn't COMPLETE while any index holds the document, or may in a moment."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.domain.index.builds import BuildState, BuildStep
from custody.domain.index.candidates import IndexEntry, Space
from custody.domain.jobs import EraseJob
from custody.domain.ledger.erasures import Erasure, ErasureState
from custody.domain.model import BuildKey, DocumentKey
from custody.domain.storage import object_keys
from custody.errors import Unavailable
from tests.support.ingest_world import TENANT, WRITER, Crash
from tests.support.rebuild_world import ACME, RebuildWorld

DOC = DocumentKey(TENANT, "d1")


def erase(world: RebuildWorld) -> EraseJob:
    erasure = world.erasures.request(WRITER, ErasureRequest("d1", "it is over"))
    return EraseJob(erasure.key, erasure.erasure_id, erasure.through_version)


def erasure(world: RebuildWorld, job: EraseJob) -> Erasure:
    found = world.ledger.erasure(TENANT, job.erasure_id)
    assert found is not None
    return found


def prepared(world: RebuildWorld) -> None:
    for n in range(4):
        world.publish_document(f"d{n}", f"alpha {n}\nbeta {n}")
    world.use_pace(documents=2)


def nothing_is_left_once_it_says_so(world: RebuildWorld, job: EraseJob) -> None:
    if erasure(world, job).state is ErasureState.COMPLETE:
        assert world.index.left(ACME, DOC) == 0
        assert world.objects.keys(object_keys.folder("vectors", DOC)) == ()


def erase_at(world: RebuildWorld, moment: int, key: BuildKey) -> None:
    """Erase before that call of the build's run, and look at the receipt before each later one."""
    jobs: list[EraseJob] = []

    def propagate() -> None:
        nothing_is_left_once_it_says_so(world, jobs[0])
        with suppress(Unavailable):
            world.propagate_erasure(jobs[0])
        nothing_is_left_once_it_says_so(world, jobs[0])

    def begin() -> None:
        jobs.append(erase(world))
        propagate()

    world.interrupter.watched, world.interrupter.moment = 0, moment
    world.interrupter.act, world.interrupter.check = begin, propagate
    world.run(key)
    if not jobs:
        begin()
    propagate()
    assert erasure(world, jobs[0]).state is ErasureState.COMPLETE
    nothing_is_left_once_it_says_so(world, jobs[0])
    world.work()
    assert world.build(key).state is BuildState.SERVED
    nothing_is_left_once_it_says_so(world, jobs[0])


@pytest.mark.parametrize("moment", range(1, 72))
def test_at_no_moment_of_a_build_does_a_receipt_say_too_much(
    world: RebuildWorld, moment: int
) -> None:
    prepared(world)
    erase_at(world, moment, world.begin())


@pytest.mark.parametrize("moment", range(1, 72, 2))
def test_nor_while_vectors_of_another_model_are_made(world: RebuildWorld, moment: int) -> None:
    prepared(world)
    world.use_other_model("words-2")
    erase_at(world, moment, world.begin("other"))


@pytest.mark.parametrize("moment", range(1, 25))
def test_nor_while_a_missing_document_is_put_back(world: RebuildWorld, moment: int) -> None:
    prepared(world)
    key = world.begin()
    world.use_pace(run=timedelta(0))
    while world.build(key).step is not BuildStep.VERIFY:
        world.run(key)
    world.index.take_from(ACME, world.build(key).index or "", DOC, 1)
    world.use_pace(run=timedelta(seconds=120))
    erase_at(world, moment, key)


def test_a_lease_is_renewed_before_it_is_too_short_for_the_next_write(
    world: RebuildWorld,
) -> None:
    world.publish_document("long", "\n".join(f"alpha {n}" for n in range(900)))
    left: list[timedelta] = []
    real = world.index.put_into
    key = world.begin()

    def slow(space: Space, name: str, entries: Sequence[IndexEntry]) -> None:
        batch = world.build(key).batch
        assert batch is not None
        left.append(batch.until - world.clock.now())
        world.clock.sleep(15)
        real(space, name, entries)

    world.index.put_into = slow  # type: ignore[method-assign]  # takes its time
    world._build()
    world.run(key)
    assert len(left) == 9
    assert min(left) >= world.build_pace.margin - timedelta(seconds=1)
    assert left.count(max(left)) < len(left)


def test_a_batch_that_is_open_holds_the_receipt_up_and_one_that_was_left_no_longer_than_its_lease(
    world: RebuildWorld,
) -> None:
    prepared(world)
    key = world.begin()
    world.killer.calls, world.killer.at = 0, 22
    with pytest.raises(Crash):
        world.run(key)
    build = world.build(key)
    assert build.step is BuildStep.COPY
    assert build.batch is not None
    assert "d1" in build.batch.documents
    job = erase(world)
    with pytest.raises(Unavailable) as waits:
        world.propagate_erasure(job)
    assert waits.value.code == "erasure-partial"
    receipt = erasure(world, job)
    assert receipt.state is ErasureState.PARTIAL
    assert [a.location for a in receipt.artifacts if a.verified_at is None] == ["index-builds"]
    world.later(61)
    world.propagate_erasure(job)
    receipt = erasure(world, job)
    assert receipt.state is ErasureState.COMPLETE
    assert "index-builds" not in [a.location for a in receipt.artifacts]
    world.work()
    assert world.build(key).state is BuildState.SERVED
    assert world.index.left(ACME, DOC) == 0


def test_an_erasure_of_another_document_is_not_held_up(world: RebuildWorld) -> None:
    prepared(world)
    key = world.begin()
    world.killer.calls, world.killer.at = 0, 22
    with pytest.raises(Crash):
        world.run(key)
    erased = world.erasures.request(WRITER, ErasureRequest("d3", "it is over"))
    job = EraseJob(erased.key, erased.erasure_id, erased.through_version)
    world.propagate_erasure(job)
    assert erasure(world, job).state is ErasureState.COMPLETE


def test_an_erasure_reaches_the_index_that_was_replaced(world: RebuildWorld) -> None:
    prepared(world)
    world.begin()
    world.work()
    assert len(world.index.generations(ACME)) == 2
    job = erase(world)
    world.propagate_erasure(job)
    assert world.index.left(ACME, DOC) == 0
