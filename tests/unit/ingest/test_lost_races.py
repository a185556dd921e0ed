"""Each write that can lose a race: how often it is tried, and what is told in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.application.governance.source_registry import SourceRequest
from custody.application.ingestion.accept_drop import DropEvent
from custody.application.ingestion.change_acl import AclRequest
from custody.application.races import ATTEMPTS
from custody.domain.jobs import PublishJob, RejectJob
from custody.domain.ledger import transitions
from custody.domain.ledger.drops import DropState
from custody.domain.model import Acl, DocumentKey, SourceKey
from custody.errors import Conflict, Moved, NotFound
from tests.support.ingest_world import GOVERNOR, TENANT, WRITER, World, request

GUIDE = DocumentKey(TENANT, "guide")
WIKI = SourceKey(TENANT, "wiki")


class Overtaken:
    """A write that always comes too late."""

    def __init__(self, answer: object = transitions.moved("document")) -> None:
        self.answer = answer
        self.tries = 0

    def __call__(self, *args: object, **kwargs: object) -> object:
        self.tries += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def world() -> World:
    world = World()
    world.source()
    world.post_document(WRITER, request())
    return world


def _put_document(world: World) -> object:
    return world.post_document(WRITER, request(text="changed"))


def _put_source(world: World) -> object:
    return world.sources.put(GOVERNOR, SourceRequest("wiki", "board", ("user:ci",)))


def _change_acl(world: World) -> object:
    return world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))


def _erase(world: World) -> object:
    return world.erasures.request(WRITER, ErasureRequest("guide", "asked"))


def _drop(world: World) -> object:
    return world.accept_drop(world.drop("a.txt", b"text"))


def _publish_acl(world: World) -> None:
    head = world.ledger.narrow(GUIDE, Acl.of("user:bob"), expected_revision=2, at=world.clock.now())
    world.handle(PublishJob(GUIDE, 1, head.acl_revision + 1))


@pytest.mark.parametrize(
    ("write", "action", "told"),
    [
        ("accept", _put_document, "The document is being changed by others; try again."),
        ("put_source", _put_source, "The source is being changed by others; try again."),
        ("narrow", _change_acl, "The document is being changed by others; try again."),
        ("tombstone", _erase, "The document is being changed by others; try again."),
        ("accept", _drop, "The drop is being changed faster than it can be read."),
    ],
)
def test_it_is_tried_eight_times_and_then_told(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    write: str,
    action: Callable[[World], object],
    told: str,
) -> None:
    late = Overtaken()
    monkeypatch.setattr(world.ledger, write, late)
    with pytest.raises(Conflict) as lost:
        action(world)
    assert late.tries == ATTEMPTS
    assert (lost.value.code, lost.value.detail) == ("version-conflict", told)
    assert not isinstance(lost.value, Moved)


def test_an_acl_that_is_overtaken_each_time_is_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Overtaken(None)
    monkeypatch.setattr(world.ledger, "flip_acl", late)
    with pytest.raises(Conflict) as lost:
        _publish_acl(world)
    assert late.tries == ATTEMPTS
    assert lost.value.detail == "The ACL is being changed by others."


def _live_drop(world: World) -> DropEvent:
    event = world.drop("a.txt", b"text")
    world.deliver(event)
    return world.drop("a.txt.metadata.json", b"{")


def test_closing_a_document_inside_a_drop_is_tried_eight_times_in_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = _live_drop(world)
    late = Overtaken()
    monkeypatch.setattr(world.ledger, "narrow", late)
    with pytest.raises(Conflict) as lost:
        world.accept_drop(broken)
    assert late.tries == ATTEMPTS
    assert lost.value.detail == "The drop is being changed faster than it can be read."


def test_closing_a_document_goes_on_after_a_lost_race(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = _live_drop(world)
    real = world.ledger.narrow
    tries: list[int] = []

    def once_too_late(
        key: DocumentKey,
        acl: Acl,
        *,
        expected_revision: int,
        at: datetime,
        by: str | None = None,
        withdrawn: str | None = None,
    ) -> object:
        tries.append(expected_revision)
        if len(tries) == 1:
            raise transitions.moved("document")
        return real(
            key, acl, expected_revision=expected_revision, at=at, by=by, withdrawn=withdrawn
        )

    monkeypatch.setattr(world.ledger, "narrow", once_too_late)
    outcome = world.accept_drop(broken)
    assert outcome.reasons == ("sidecar-malformed",)
    world.work()
    assert "text" not in world.texts()


def test_a_drop_whose_pinned_object_went_away_is_read_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = world.objects.get
    tries: list[object] = []

    def gone_once(*args: Any, **kwargs: Any) -> object:
        tries.append(args)
        if len(tries) == 1:
            raise NotFound("That version is gone.")
        return real(*args, **kwargs)

    monkeypatch.setattr(world.objects, "get", gone_once)
    world.deliver(world.drop("a.txt", b"text"))
    assert "text" in world.texts()


def test_a_document_of_another_source_is_refused_at_the_first_try(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.source("other")
    elsewhere = Overtaken(Conflict("Another source's.", code="document-owned-elsewhere"))
    monkeypatch.setattr(world.ledger, "accept", elsewhere)
    with pytest.raises(Conflict) as refused:
        _put_document(world)
    assert (elsewhere.tries, refused.value.code) == (1, "document-owned-elsewhere")


def _settling(
    world: World, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Any], Any]
) -> DropState:
    """The drop's state after a publication that finds the drop moved by ``meanwhile``."""
    world.accept_drop(world.drop("a.txt", b"text"))
    real = world.ledger.put_drop
    tries: list[object] = []

    def overtaken(drop: Any) -> object:
        tries.append(drop)
        if len(tries) == 1:
            real(meanwhile(world.ledger.drop(WIKI, "a.txt")))
        return real(drop)

    monkeypatch.setattr(world.ledger, "put_drop", overtaken)
    world.work()
    drop = world.ledger.drop(WIKI, "a.txt")
    assert drop is not None
    state: DropState = drop.state
    return state


def test_a_drop_is_settled_though_its_record_moved(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        _settling(world, monkeypatch, lambda drop: replace(drop, sequencer="FF"))
        is DropState.ACTIVE
    )


@pytest.mark.parametrize("state", [DropState.REMOVED, DropState.REJECTED])
def test_a_drop_that_was_settled_otherwise_meanwhile_stays_so(
    world: World, monkeypatch: pytest.MonkeyPatch, state: DropState
) -> None:
    assert _settling(world, monkeypatch, lambda drop: replace(drop, state=state)) is state


def test_a_drop_of_a_newer_upload_is_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _settling(world, monkeypatch, lambda drop: replace(drop, version=9)) is DropState.PENDING


def test_a_drop_that_moves_each_time_is_given_up_and_the_job_comes_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.accept_drop(world.drop("a.txt", b"!reject malformed-pdf"))
    late = Overtaken()
    monkeypatch.setattr(world.ledger, "put_drop", late)
    drop = world.ledger.drop(WIKI, "a.txt")
    assert drop is not None
    job = RejectJob(drop.document, 1, ("malformed-pdf",))
    with pytest.raises(Conflict) as lost:
        world.handle(job)
    assert late.tries == ATTEMPTS
    assert lost.value.detail == "The drop is being changed by others."
