"""The same things twice at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from custody.domain.jobs import Job
from custody.domain.model import DocumentKey, VersionState
from custody.domain.provenance.identifiers import drop_document_id
from custody.errors import CustodyError
from tests.support.ingest_world import KINDS, TENANT, WRITER, World, request

GUIDE = DocumentKey(TENANT, "guide")


def until_done(action: Callable[[], object]) -> None:
    """As a queue or an SDK does."""
    for _ in range(50):
        try:
            action()
        except CustodyError as error:
            if error.code not in {"version-conflict", "index-incomplete"}:
                raise
        else:
            return
    raise AssertionError("never done")


def at_once(actions: Iterable[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(until_done, action) for action in actions]:
            done.result()


def work(world: World) -> None:
    """Everything that waits, each job by two workers at once."""
    while world.queue.pending:
        waiting: list[Job] = []
        world.queue.drain(dict.fromkeys(KINDS, waiting.append))
        at_once(lambda job=job: world.handle(job) for job in waiting * 2)  # type: ignore[misc]  # bound now


def test_uploads_and_their_events_at_once_end_with_the_last_upload() -> None:
    world = World()
    world.source()
    events = [world.drop("a.txt", f"text {number}".encode()) for number in range(6)]
    at_once(lambda event=event: world.accept_drop(event) for event in events * 3)  # type: ignore[misc]  # bound now
    work(world)
    assert world.texts() == {"text 5"}
    assert world.ledger.head(DocumentKey(TENANT, drop_document_id("wiki", "a.txt"))).version == 1  # type: ignore[union-attr]  # it is there


def test_uploads_while_events_are_handled_end_with_the_last_upload() -> None:
    world = World()
    world.source()

    def upload(number: int) -> None:
        until_done(lambda: world.accept_drop(world.drop("a.txt", f"text {number}".encode())))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upload, range(20)))
    last = world.objects._versions[f"incoming/{TENANT}/wiki/a.txt"][-1]
    work(world)
    assert world.texts() == {(last.body or b"").decode()}


def test_writers_of_one_document_at_once_lose_nothing_and_agree() -> None:
    world = World(wait_seconds=0.0)
    world.while_waiting = lambda: None
    world.source()
    texts = [f"text {number}" for number in range(12)]
    at_once(
        lambda text=text: world.post_document(WRITER, request(text=text))  # type: ignore[misc]  # bound now
        for text in texts
    )
    work(world)
    head = world.ledger.head(GUIDE)
    assert head is not None
    assert head.version == head.accepted_version
    assert len(world.texts()) == 1
    assert {entry.version for entry in world.index.visible()} == {head.version}
    states = [world.ledger.version(GUIDE, n).state for n in range(1, head.version)]  # type: ignore[union-attr]  # it is there
    assert set(states) <= {VersionState.SUPERSEDED}


def test_the_same_document_posted_at_once_is_one_version() -> None:
    world = World(wait_seconds=0.0)
    world.while_waiting = lambda: None
    world.source()
    at_once((lambda: world.post_document(WRITER, request()),) * 8)
    work(world)
    assert world.ledger.head(GUIDE).accepted_version == 1  # type: ignore[union-attr]  # it is there
    assert world.texts() == {"alpha", "beta"}
