"""A builder that leaves off, or is given up, in the middle of a batch makes no receipt untrue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.domain.index.builds import BuildState
from custody.domain.index.candidates import IndexEntry, Space
from custody.domain.jobs import EraseJob
from custody.domain.ledger.erasures import Erasure, ErasureState
from custody.domain.model import BuildKey, DocumentKey
from custody.errors import Unavailable
from tests.support.ingest_world import GOVERNOR, TENANT, WRITER, Crash
from tests.support.rebuild_world import ACME, RebuildWorld

DOC = DocumentKey(TENANT, "long")
SECONDS = 20


class Stalled:
    """A run that stands still before its second piece is put, until it is let go."""

    def __init__(self, world: RebuildWorld) -> None:
        self.world, self.pieces = world, 0
        self.key: BuildKey = world.begin()
        self.after: Callable[[], object] = lambda: None
        self._reached, self._go = threading.Event(), threading.Event()
        self._put = world.index.put_into
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __call__(self, space: Space, name: str, entries: Sequence[IndexEntry]) -> None:
        self.pieces += 1
        if self.pieces == 2:
            self._reached.set()
            assert self._go.wait(SECONDS)
        self._put(space, name, entries)
        if self.pieces == 2:
            self.after()

    def start(self) -> None:
        self._thread.start()
        assert self._reached.wait(SECONDS)

    def let_go(self) -> None:
        self._go.set()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        with suppress(Unavailable):
            self.world.run(self.key)


@pytest.fixture
def stalled(world: RebuildWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stalled]:
    world.publish_document("long", "\n".join(f"alpha {n}" for n in range(250)))
    run = Stalled(world)
    monkeypatch.setattr(world.index, "put_into", run)
    world._build()
    run.start()
    yield run
    run.let_go()


def erase(world: RebuildWorld) -> EraseJob:
    erasure = world.erasures.request(WRITER, ErasureRequest("long", "it is over"))
    return EraseJob(erasure.key, erasure.erasure_id, erasure.through_version)


def receipt(world: RebuildWorld, job: EraseJob) -> Erasure:
    found = world.ledger.erasure(TENANT, job.erasure_id)
    assert found is not None
    return found


def test_a_run_that_leaves_off_while_the_places_are_visited_holds_the_receipt_up(
    world: RebuildWorld, stalled: Stalled, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalled.after = lambda: world.clock.sleep(300)  # its time is over before the third piece
    job, left = erase(world), world.index.left

    def read_back(space: Space, key: DocumentKey, version: int | None = None) -> int:
        found = left(space, key, version)
        if space.history:
            stalled.let_go()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(world.index, "left", read_back)
        world._build()
        with pytest.raises(Unavailable):
            world.propagate_erasure(job)
    world._build()
    assert stalled.pieces == 2
    assert world.index.left(ACME, DOC) == 100
    assert receipt(world, job).state is ErasureState.PARTIAL
    world.propagate_erasure(job)
    assert receipt(world, job).state is ErasureState.COMPLETE
    assert world.index.left(ACME, DOC) == 0


def test_the_run_of_a_build_that_was_given_up_holds_the_receipt_up(
    world: RebuildWorld, stalled: Stalled
) -> None:
    held: list[int] = []
    stalled.after = lambda: held.append(world.index.left(ACME, DOC))
    job = erase(world)
    world.service.indices.drop(GOVERNOR, stalled.key.build_id)
    with pytest.raises(Unavailable):
        world.propagate_erasure(job)
    waits = [a.location for a in receipt(world, job).artifacts if a.verified_at is None]
    assert waits == ["index-builds"]
    stalled.let_go()
    assert held == [100]
    world.later(61)
    world.propagate_erasure(job)
    assert receipt(world, job).state is ErasureState.COMPLETE
    world.work()
    assert world.build(stalled.key).state is BuildState.ABANDONED
    assert world.index.left(ACME, DOC) == 0


def test_a_version_that_was_signed_and_then_erased_is_put_nowhere(
    world: RebuildWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish_document("other")
    world.while_waiting = lambda: None
    world.publish_document("long")
    with monkeypatch.context() as patch:
        patch.setattr(world.index, "put", _killed)
        world._build()
        with pytest.raises(Crash):
            world.work()
    signed = world.ledger.version(DOC, 1)
    assert signed is not None
    assert signed.envelope is not None
    erase(world)  # the tombstone alone: its records are stripped later
    put: list[DocumentKey] = []
    real = world.index.put_into

    def put_into(space: Space, name: str, entries: Sequence[IndexEntry]) -> None:
        put.extend(entry.key for entry in entries)
        real(space, name, entries)

    monkeypatch.setattr(world.index, "put_into", put_into)
    world._build()
    world.run(world.begin())
    assert put
    assert DOC not in put


def _killed(*_: object) -> None:
    raise Crash("before put")
