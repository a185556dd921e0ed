"""Access changes without new content: narrowing at the next read, widening once it returns."""

from __future__ import annotations

import pytest

from custody.application.ingestion.change_acl import AclRequest
from custody.domain.index.candidates import Space
from custody.domain.jobs import PublishJob
from custody.domain.model import Acl, DocumentKey
from custody.domain.provenance import statement
from custody.errors import Conflict, Forbidden, NotFound, PreconditionFailed, Unprocessable
from tests.support.ingest_world import (
    GOVERNOR,
    READER,
    STRANGER,
    TENANT,
    WRITER,
    Crash,
    World,
    principal,
    request,
)

GUIDE = DocumentKey(TENANT, "guide")
BOB = principal("bob")


@pytest.fixture
def world() -> World:
    world = World()
    world.source(max_acl=("group:staff", "user:bob", "user:eve"))
    world.post_document(WRITER, request(text="secret"))
    return world


def test_narrowing_holds_at_the_next_read_before_any_job_ran(world: World) -> None:
    world.while_waiting = lambda: None
    change = world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    assert world.texts(READER) == set()
    assert world.texts(BOB) == set(), "what it adds is not in force yet"
    assert not change.in_force
    world.work()
    assert world.texts(BOB) == {"secret"}


def test_only_taking_away_is_in_force_at_once(world: World) -> None:
    world.change_acl(WRITER, AclRequest("guide", ("group:staff", "user:bob")))
    world.while_waiting = lambda: None
    assert world.change_acl(WRITER, AclRequest("guide", ("user:bob",))).in_force
    assert world.texts(READER) == set()
    assert world.texts(BOB) == {"secret"}


def test_widening_is_found_once_the_call_returns(world: World) -> None:
    change = world.change_acl(GOVERNOR, AclRequest("guide", ("group:staff", "user:bob")))
    assert change.in_force
    assert world.texts(BOB) == {"secret"}
    assert world.texts(READER) == {"secret"}
    head = world.ledger.head(GUIDE)
    assert head is not None
    assert head.envelope is not None
    assert (head.acl_revision, head.version) == (1, 1)
    signed = statement.parse(head.envelope.payload)
    assert statement.describes(signed, head)


def test_public_made_private_and_back(world: World) -> None:
    for allow, readers in (
        (("user:bob",), {"bob"}),
        (("group:staff",), {"ann"}),
        (("user:bob", "group:staff"), {"bob", "ann"}),
    ):
        world.change_acl(WRITER, AclRequest("guide", allow))
        for reader in (BOB, READER):
            assert (world.texts(reader) == {"secret"}) is (reader.subject in readers)


def test_two_changes_before_any_job_end_with_the_last(world: World) -> None:
    world.while_waiting = lambda: None
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    world.change_acl(WRITER, AclRequest("guide", ("user:eve",)))
    world.work()
    head = world.ledger.head(GUIDE)
    assert head is not None
    assert (head.acl, head.narrowed_to) == (Acl.of("user:eve"), None)
    assert world.texts(STRANGER) == {"secret"}
    assert world.texts(BOB) == set()


def test_a_version_on_its_way_yields_to_a_later_change(world: World) -> None:
    world.while_waiting = lambda: None
    world.accept.from_api(WRITER, request(text="next", acl=("group:staff",)))
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    world.work()
    assert world.texts(READER) == set()
    assert world.texts(BOB) == {"next"}


def test_a_version_accepted_after_the_change_brings_its_own(world: World) -> None:
    world.while_waiting = lambda: None
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    world.accept.from_api(WRITER, request(text="next", acl=("group:staff",)))
    world.work()
    assert world.texts(READER) == {"next"}
    assert world.texts(BOB) == set()


def test_the_same_acl_again_signs_nothing(world: World) -> None:
    before = world.ledger.head(GUIDE)
    change = world.change_acl(WRITER, AclRequest("guide", ("group:staff",)))
    assert change.in_force
    assert world.ledger.head(GUIDE) == before


def test_repeated_and_stale_jobs_change_nothing_more(world: World) -> None:
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    head = world.ledger.head(GUIDE)
    for revision in (1, 2, 9):
        assert world.publish([PublishJob(GUIDE, 1, revision)]) == ()
    assert world.ledger.head(GUIDE) == head


@pytest.mark.parametrize("killed", [False, True])
def test_a_slow_publisher_of_an_older_change_does_not_undo_a_newer_one_in_the_index(
    world: World, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    world.while_waiting = lambda: None
    world.change_acl(WRITER, AclRequest("guide", ("user:eve",)))
    real = world.index.set_acl
    slow: list[Acl] = []

    def set_acl(space: Space, key: DocumentKey, version: int | None, acl: Acl) -> None:
        if not slow:
            slow.append(acl)
            world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
            world.work()
            real(space, key, version, acl)
            if killed:
                raise Crash("after set_acl")
        real(space, key, version, acl)

    monkeypatch.setattr(world.index, "set_acl", set_acl)
    try:
        world.handle(PublishJob(GUIDE, 1, 1))
    except Crash:
        assert killed
        world.handle(PublishJob(GUIDE, 1, 1))
    assert slow == [Acl.of("user:eve")]
    world.index.refresh((Space.of(GUIDE),))  # whatever was set is seen sooner or later
    assert world.texts(BOB) == {"secret"}


def test_a_repeat_after_a_lost_job_sends_it_again(world: World) -> None:
    world.while_waiting = lambda: None
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    world.queue.drain({PublishJob: lambda job: None})  # lost
    world.while_waiting = world.work
    assert world.change_acl(WRITER, AclRequest("guide", ("user:bob",))).in_force


def test_it_needs_a_writer_or_a_governor(world: World) -> None:
    with pytest.raises(NotFound):
        world.change_acl(STRANGER, AclRequest("guide", ("user:eve",)))
    reader = principal("ann", "staff")
    with pytest.raises(Forbidden):
        world.change_acl(
            principal("ann", "staff", scopes=frozenset({"custody/read", "custody/write"})),
            AclRequest("guide", ("user:ann",)),
        )
    assert reader.subject == "ann"
    assert world.texts(READER) == {"secret"}


@pytest.mark.parametrize(
    ("allow", "code"),
    [
        (("everyone",), "acl-too-wide"),
        (("group:staff", "user:mallory"), "acl-too-wide"),
        ((), "invalid-field"),
        (("staff",), "invalid-field"),
        (tuple(f"user:{n}" for n in range(201)), "invalid-field"),
    ],
)
def test_a_bad_acl_changes_nothing(world: World, allow: tuple[str, ...], code: str) -> None:
    before = world.ledger.head(GUIDE)
    with pytest.raises(Unprocessable) as caught:
        world.change_acl(WRITER, AclRequest("guide", allow))
    assert caught.value.code == code
    assert world.ledger.head(GUIDE) == before


def test_if_match_and_what_is_not_live(world: World) -> None:
    with pytest.raises(PreconditionFailed):
        world.change_acl(WRITER, AclRequest("guide", ("user:bob",), if_match=1))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request("draft"))
    with pytest.raises(Conflict) as caught:
        world.change_acl(WRITER, AclRequest("draft", ("user:bob",)))
    assert caught.value.code == "document-not-live"
