"""Invariant 8: at least once, out of order, twice at the same time, killed anywhere: same end.

Each scenario runs undisturbed once. Then it is killed before and after every single call of every
port, everything is delivered again (twice, and in another order), and the end must be the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.application.ingestion.accept_drop import DropEvent
from custody.application.ingestion.change_acl import AclRequest
from custody.domain.jobs import Job
from custody.domain.ledger.erasures import ErasureState
from custody.domain.model import DocumentKey
from custody.domain.provenance.identifiers import drop_document_id
from custody.errors import CustodyError
from tests.support.ingest_world import (
    KINDS,
    TENANT,
    WRITER,
    Crash,
    World,
    lines,
    principal,
    request,
)

GUIDE = DocumentKey(TENANT, "guide")
DROP = DocumentKey(TENANT, drop_document_id("wiki", "a.txt"))
BOB = principal("bob")

type Step = Callable[[World], object]


class Scenario:
    """Steps that a caller or an event does, each retried until it is done, as SDKs and queues
    do; after each the queues are drained, with every job delivered until it is done."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps

    def run(self, world: World, *, seed: int | None = None) -> None:
        shuffle = random.Random(seed) if seed is not None else None
        for step in self.steps:
            _until_done(lambda step=step: step(world))  # type: ignore[misc]  # bound now
            _drain(world, shuffle)
        if shuffle is not None:
            _deliver_everything_again(world, shuffle)


def _until_done(action: Callable[[], object]) -> None:
    for _ in range(5):
        try:
            action()
        except Crash:
            continue
        return
    raise AssertionError("never done")


def _drain(world: World, shuffle: random.Random | None) -> None:
    """Deliver what is waiting, in order or not, each job again after a crash."""
    waiting: list[Job] = []
    for _ in range(10_000):
        world.queue.drain(dict.fromkeys(KINDS, waiting.append))
        if not waiting:
            return
        job = waiting.pop(shuffle.randrange(len(waiting)) if shuffle else 0)
        try:
            world.handle(job)
        except (Crash, CustodyError):
            waiting.append(job)
    raise AssertionError("the queues never ran dry")


def _deliver_everything_again(world: World, shuffle: random.Random) -> None:
    jobs = [job for job in world.queue.sent for _ in range(2)]
    shuffle.shuffle(jobs)
    for job in jobs:
        world.handle(job)
    _drain(world, shuffle)


def made() -> World:
    world = World(wait_seconds=0.0)
    world.source(mirror_deletes=True, default_acl=("group:staff", "user:bob"))
    world.while_waiting = lambda: None
    return world


def end(world: World) -> dict[str, object]:
    """What a reader, an operator and an auditor can tell of the end state."""
    heads = {}
    for key in (GUIDE, DROP):
        head = world.ledger.head(key)
        if head is not None:
            heads[key.document_id] = (
                head.version, head.state, head.acl.allow, head.narrowed_to, head.acl_revision,
                head.title, head.content_sha256, head.chunk_count, head.erased_through,
            )  # fmt: skip
    drop = world.ledger.find_drops(TENANT, "a.txt")
    return {
        "heads": heads,
        "staff": world.served(),
        "bob": world.served(BOB),
        "index": {
            (entry.key.document_id, entry.version, entry.ordinal, entry.acl)
            for entry in world.index.visible()
        },
        "drops": [(one.state, one.version, one.reasons) for one in drop],
        "objects": {key for key in world.objects.keys("") if world.objects.head(key) is not None},
        "erasures": sorted(erasure.state.value for erasure in world.ledger._erasures.values()),
    }


def post(text: str, **changes: Any) -> Step:
    return lambda world: world.post_document(WRITER, request(text=text, **changes))


def dropped(name: str, body: bytes) -> Step:
    """The upload happens once; its event is delivered until it is done."""
    told: dict[int, DropEvent | None] = {}

    def step(world: World) -> object:
        event = told.setdefault(id(world), None) or world.drop(name, body)
        told[id(world)] = event
        return world.accept_drop(event)

    return step


def undropped(name: str) -> Step:
    told: dict[int, DropEvent | None] = {}

    def step(world: World) -> object:
        event = told.setdefault(id(world), None) or world.undrop(name)
        told[id(world)] = event
        return world.accept_drop(event)

    return step


def acl(*terms: str) -> Step:
    return lambda world: world.change_acl(WRITER, AclRequest("guide", terms))


def erased(document_id: str) -> Step:
    return lambda world: world.erasures.request(WRITER, ErasureRequest(document_id, "why"))


SIDECAR = b'{"metadataAttributes": {"acl": ["user:bob"], "title": "T"}}'
SCENARIOS = {
    "publish": lambda: Scenario(post(lines(40))),
    "a-b-a": lambda: Scenario(post("a"), post("b"), post("a")),
    "change-acl": lambda: Scenario(post("a"), acl("user:bob"), acl("user:bob", "group:staff")),
    "erase": lambda: Scenario(post("a"), post("b"), erased("guide")),
    "come-back": lambda: Scenario(post("a"), erased("guide"), post("a")),
    "drop": lambda: Scenario(dropped("a.txt", b"one"), dropped("a.txt", b"two")),
    "pair": lambda: Scenario(dropped("a.txt.metadata.json", SIDECAR), dropped("a.txt", b"one")),
    "broken-pair": lambda: Scenario(dropped("a.txt", b"one"), dropped("a.txt.metadata.json", b"{")),
    "refused": lambda: Scenario(dropped("a.txt", b"one"), dropped("a.txt", b"!reject bad")),
    "refused-at-once": lambda: Scenario(dropped("a.txt", b"!reject bad")),
    "refused-then-good": lambda: Scenario(
        dropped("a.txt", b"!reject bad"), dropped("a.txt", b"one")
    ),
    "refused-and-erased": lambda: Scenario(
        dropped("a.txt", b"!reject bad"), erased(DROP.document_id)
    ),
    "refused-by-api": lambda: Scenario(post("a"), post("!reject bad")),
    "mirrored": lambda: Scenario(dropped("a.txt", b"one"), undropped("a.txt")),
    "dropped-again": lambda: Scenario(
        dropped("a.txt", b"one"), undropped("a.txt"), dropped("a.txt", b"one")
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_between_any_two_steps_it_ends_the_same(name: str) -> None:
    undisturbed = made()
    undisturbed.killer.calls = 0
    SCENARIOS[name]().run(undisturbed)
    calls, expected = undisturbed.killer.calls, end(undisturbed)
    assert calls > 10
    for call in range(1, calls + 1):
        for after in (False, True):
            world = made()
            world.killer.calls, world.killer.at, world.killer.after = 0, call, after
            SCENARIOS[name]().run(world)
            assert world.killer.at is None, "nothing was killed"
            assert end(world) == expected, (call, after)


@pytest.mark.parametrize("name", SCENARIOS)
def test_delivered_in_any_order_and_again_it_ends_the_same(name: str) -> None:
    undisturbed = made()
    SCENARIOS[name]().run(undisturbed)
    expected = end(undisturbed)
    for seed in range(10):
        world = made()
        SCENARIOS[name]().run(world, seed=seed)
        assert end(world) == expected, seed


def test_a_crash_during_an_erasure_is_finished_and_the_receipt_complete() -> None:
    world = made()
    Scenario(post("secret"), erased("guide")).run(world, seed=3)
    (erasure,) = world.ledger._erasures.values()
    assert erasure.state is ErasureState.COMPLETE
