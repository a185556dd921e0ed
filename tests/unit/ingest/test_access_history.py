"""Who could have been shown a document at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.application.ingestion.change_acl import AclRequest
from custody.application.reading.access_history import PastAccess
from custody.domain.ledger.acl_history import AclRevision, held_at
from custody.domain.model import Acl, Scope, SourceKey, SourceState
from custody.errors import Forbidden, NotFound, Unprocessable
from tests.support.ingest_world import GOVERNOR, START, TENANT, WRITER, World, principal, request

AUDITOR = principal("audit", scopes=frozenset({Scope.AUDIT}))
STAFF, BOB = Acl.of("group:staff"), Acl.of("user:bob")
WIKI = SourceKey(TENANT, "wiki")


@pytest.fixture
def world() -> World:
    world = World()
    world.source()
    return world


def asked(world: World, at: datetime | None) -> PastAccess:
    return world.service.access_history(AUDITOR, "guide", at)


def read_at(world: World, at: datetime | None) -> tuple[int, Acl, Acl | None] | None:
    held = asked(world, at).held
    return None if held is None else (
        held.revision.version, held.revision.acl, held.revision.narrowed_to,
    )  # fmt: skip


def later(world: World) -> datetime:
    world.clock.sleep(60)
    return world.clock.time


def test_each_time_has_the_acl_that_held_then(world: World) -> None:
    before = later(world)
    world.post_document(WRITER, request())
    first = later(world)
    world.while_waiting = lambda: None
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    narrowed = later(world)
    world.work()
    signed = later(world)
    world.while_waiting = world.work
    world.post_document(WRITER, request(text="second", acl=("group:staff", "user:bob")))
    second = later(world)
    world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
    world.work()
    gone = later(world)
    assert read_at(world, before) is None
    assert read_at(world, first) == (1, STAFF, None)
    assert read_at(world, narrowed) == (1, STAFF, BOB)
    assert read_at(world, signed) == (1, BOB, None)
    found = read_at(world, second)
    assert found is not None
    assert (found[0], found[1]) == (2, Acl.of("group:staff", "user:bob"))
    assert read_at(world, gone) == read_at(world, None) == (0, Acl(()), None)
    held = asked(world, first).held
    assert held is not None
    assert held.until is not None
    assert first < held.until < narrowed
    assert not held.revision.permits(frozenset({"user:eve"}))
    assert held.revision.permits(frozenset({"group:staff"}))


def test_the_state_of_the_source_is_that_of_the_time(world: World) -> None:
    world.post_document(WRITER, request())
    open_ = later(world)
    stored = world.ledger.source(WIKI)
    assert stored is not None
    world.ledger.put_source(
        replace(stored, state=SourceState.QUARANTINED, updated_at=world.clock.now(), max_acl=BOB),
        expected_revision=stored.revision,
    )
    closed = later(world)
    before, after = asked(world, open_).source, asked(world, closed).source
    assert before is not None
    assert after is not None
    assert (before.state, before.max_acl) == (SourceState.ACTIVE, None)
    assert (after.state, after.max_acl) == (SourceState.QUARANTINED, BOB)
    assert asked(world, START - timedelta(days=1)).source is None


def test_only_auditors_of_the_tenant_ask_and_only_of_the_past(world: World) -> None:
    world.post_document(WRITER, request())
    with pytest.raises(Forbidden):
        world.service.access_history(WRITER, "guide", None)
    for scopes in (frozenset({Scope.READ, Scope.GOVERN}), frozenset[Scope]()):
        with pytest.raises(Forbidden):
            world.service.access_history(principal("x", scopes=scopes), "guide", None)
    other = principal("audit", tenant="globex", scopes=frozenset({Scope.AUDIT}))
    with pytest.raises(NotFound):
        world.service.access_history(other, "guide", None)
    with pytest.raises(NotFound):
        world.service.access_history(AUDITOR, "nothing", None)
    with pytest.raises(Unprocessable) as refused:
        asked(world, world.clock.time + timedelta(hours=1))
    assert refused.value.field == "at"
    assert GOVERNOR.may(Scope.AUDIT)
    assert world.service.access_history(GOVERNOR, "guide", None).held is not None


def test_of_revisions_whose_clocks_disagree_the_later_one_decides() -> None:
    times = [START + timedelta(seconds=seconds) for seconds in (0, 5, 3)]
    kept = [AclRevision(number, 1, STAFF, since) for number, since in enumerate(times, 1)]

    def at(seconds: float) -> tuple[int, datetime | None] | None:
        held = held_at(kept, START + timedelta(seconds=seconds))
        return None if held is None else (held.revision.revision, held.until)

    assert at(-1) is None
    assert at(0) == at(2) == (1, times[2])
    assert at(3) == at(60) == (3, None)
