"""A step that may not write what is live refuses a version: it sends what it found, and publication
closes the version, at least once, late, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from custody.adapters.dynamodb import DynamoWork
from custody.application.erasure.request import ErasureRequest
from custody.domain.jobs import EmbedJob, ParseJob, PublishJob, RejectJob
from custody.domain.ledger.drops import Drop, DropState
from custody.domain.model import DocumentKey, Head, SourceKey, VersionRecord, VersionState
from custody.domain.provenance.identifiers import drop_document_id
from custody.errors import Unprocessable
from tests.support.ingest_world import TENANT, WRITER, Crash, World, lines, request

GUIDE = DocumentKey(TENANT, "guide")
WIKI = SourceKey(TENANT, "wiki")
FILE = DocumentKey(TENANT, drop_document_id("wiki", "a.txt"))
BAD = RejectJob(FILE, 1, ("malformed-pdf",))


@pytest.fixture
def world() -> World:
    world = World()
    world.source(mirror_deletes=True)
    world.while_waiting = lambda: None
    return world


def of(world: World, key: DocumentKey = FILE, version: int = 1) -> VersionRecord:
    record = world.ledger.version(key, version)
    assert isinstance(record, VersionRecord)
    return record


def head_of(world: World, key: DocumentKey = FILE) -> Head:
    head = world.ledger.head(key)
    assert isinstance(head, Head)
    return head


def drop_of(world: World) -> Drop:
    drop = world.ledger.drop(WIKI, "a.txt")
    assert isinstance(drop, Drop)
    return drop


def refused(world: World, text: bytes = b"!reject malformed-pdf") -> None:
    """A drop whose parse refused it; the job that tells of it waits."""
    world.accept_drop(world.drop("a.txt", text))
    world.queue.drain({ParseJob: world.parse, RejectJob: lambda job: None})


def test_parse_keeps_the_copy_and_sends_the_job_and_the_version_waits(world: World) -> None:
    refused(world)
    assert world.queue.sent[-1] == BAD
    assert of(world).state is VersionState.PENDING
    assert drop_of(world).state is DropState.PENDING
    assert {key.partition("/")[0] for key in world.objects.keys("rejected/")} == {"rejected"}
    assert len(world.objects.keys("rejected/")) == 2


def test_neither_parse_nor_embed_can_write_what_is_live() -> None:
    """They are given the work alone: the class that they get has no such methods."""
    assert not {"reject", "flip", "narrow", "tombstone", "accept", "put_key"} & set(dir(DynamoWork))


def test_publication_closes_the_record_the_head_and_the_drop(world: World) -> None:
    refused(world)
    assert world.close_rejected([BAD]) == ()
    assert (of(world).state, of(world).reasons) == (VersionState.REJECTED, ("malformed-pdf",))
    assert (drop_of(world).state, drop_of(world).reasons) == (
        DropState.REJECTED,
        ("malformed-pdf",),
    )
    assert head_of(world).state is VersionState.REJECTED


def test_a_second_delivery_changes_nothing_and_the_first_reason_stays(world: World) -> None:
    refused(world)
    world.close_rejected([BAD, BAD])
    once = (of(world), drop_of(world), world.ledger.head(FILE))
    assert world.close_rejected([BAD, RejectJob(FILE, 1, ("encrypted-pdf",))]) == ()
    assert (of(world), drop_of(world), world.ledger.head(FILE)) == once


@pytest.mark.parametrize("call", [1, 2, 3, 4])
@pytest.mark.parametrize("after", [False, True])
def test_killed_between_two_steps_the_next_delivery_finishes(
    world: World, call: int, after: bool
) -> None:
    """Its calls: close, read the record, read the drop, settle it."""
    refused(world)
    world.killer.calls, world.killer.at, world.killer.after = 0, call, after
    with pytest.raises(Crash):
        world.close_rejected([BAD])
    # Never the other way round: a drop that is told as rejected, of a version that may yet be live.
    closed = of(world).state is VersionState.REJECTED
    assert closed or drop_of(world).state is DropState.PENDING
    assert world.close_rejected([BAD]) == ()
    assert of(world).state is VersionState.REJECTED
    assert drop_of(world).state is DropState.REJECTED


def test_a_version_that_went_live_meanwhile_stays_live(world: World) -> None:
    """A parse that ran out of time once and did not the other time."""
    world.deliver(world.drop("a.txt", b"fine"))
    before = (of(world), drop_of(world), world.ledger.head(FILE))
    assert world.close_rejected([BAD]) == ()
    assert (of(world), drop_of(world), world.ledger.head(FILE)) == before
    assert world.texts() == {"fine"}


def test_the_drop_of_a_version_that_goes_live_in_between_is_not_told_as_rejected(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.accept_drop(world.drop("a.txt", b"fine"))
    publish: list[PublishJob] = []
    world.queue.drain({ParseJob: world.handle, EmbedJob: world.handle, PublishJob: publish.append})
    real = world.ledger.reject

    def overtaken(*args: Any) -> None:
        assert world.publish(publish) == ()
        real(*args)

    monkeypatch.setattr(world.ledger, "reject", overtaken)
    assert world.close_rejected([BAD]) == ()
    assert (of(world).state, drop_of(world).state) == (VersionState.ACTIVE, DropState.ACTIVE)


def test_a_live_version_whose_drop_is_yet_to_be_settled_is_not_told_as_rejected(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publication was killed between the flip and the drop."""
    world.accept_drop(world.drop("a.txt", b"fine"))
    publish: list[PublishJob] = []
    world.queue.drain({ParseJob: world.handle, EmbedJob: world.handle, PublishJob: publish.append})

    def killed(*_: object) -> None:
        raise Crash("before put_drop")

    with monkeypatch.context() as patch:
        patch.setattr(world.ledger, "put_drop", killed)
        with pytest.raises(Crash):
            world.publish(publish)
    assert (of(world).state, drop_of(world).state) == (VersionState.ACTIVE, DropState.PENDING)
    assert world.close_rejected([BAD]) == ()
    assert drop_of(world).state is DropState.PENDING


def test_no_copy_is_kept_of_what_a_newer_upload_has_replaced(world: World) -> None:
    world.accept_drop(world.drop("a.txt", b"!reject malformed-pdf"))
    world.accept_drop(world.drop("a.txt", b"better"))
    world.parse(ParseJob(FILE, 1))
    assert world.objects.keys("rejected/") == ()
    world.work()
    assert of(world).state is VersionState.REJECTED
    assert world.texts() == {"better"}


def test_a_publication_that_comes_after_the_rejection_makes_nothing_live(world: World) -> None:
    world.accept_drop(world.drop("a.txt", b"fine"))
    publish: list[PublishJob] = []
    world.queue.drain({ParseJob: world.handle, EmbedJob: world.handle, PublishJob: publish.append})
    assert world.close_rejected([BAD]) == ()
    assert world.publish(publish) == ()
    world.work()
    assert of(world).state is VersionState.REJECTED
    assert world.texts() == set()
    assert world.index.visible() == ()


def test_a_newer_upload_keeps_its_own_story(world: World) -> None:
    refused(world)
    world.accept_drop(world.drop("a.txt", b"better"))
    assert world.close_rejected([BAD]) == ()
    assert of(world).state is VersionState.REJECTED
    assert (drop_of(world).version, drop_of(world).state) == (2, DropState.PENDING)
    world.work()
    assert world.texts() == {"better"}


def test_an_erased_version_stays_erased(world: World) -> None:
    refused(world)
    world.erasures.request(WRITER, ErasureRequest(FILE.document_id, "why"))
    world.work()
    before = (of(world), drop_of(world))
    assert before[0].state is VersionState.ERASED
    assert world.close_rejected([BAD]) == ()
    assert (of(world), drop_of(world)) == before


def test_a_version_that_never_was_needs_nothing(world: World) -> None:
    assert world.close_rejected([RejectJob(GUIDE, 7, ("rejected",))]) == ()
    assert world.ledger.version(GUIDE, 7) is None


def test_one_jobs_fault_is_not_anothers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(world)
    world.accept.from_api(WRITER, request())
    real: Callable[..., object] = world.ledger.reject

    def damaged(key: DocumentKey, *args: Any) -> object:
        if key == GUIDE:
            raise Unprocessable("A fault of this one.")
        return real(key, *args)

    monkeypatch.setattr(world.ledger, "reject", damaged)
    other = RejectJob(GUIDE, 1, ("rejected",))
    (failure,) = world.close_rejected([other, BAD])
    assert failure.job == other
    assert of(world).state is VersionState.REJECTED


def test_a_repeat_of_the_event_sends_what_a_lost_job_left(world: World) -> None:
    event = world.drop("a.txt", b"!reject malformed-pdf")
    world.accept_drop(event)
    world.queue.drain({ParseJob: world.parse, RejectJob: lambda job: None})  # lost
    assert world.deliver(event)[0].version == 1
    assert drop_of(world).state is DropState.REJECTED


class TestAModelThatChangesMidway:
    """Half a version of each model can be searched by neither."""

    @pytest.fixture
    def second(self, world: World) -> EmbedJob:
        """The part that the other model is asked for."""
        world.accept.from_api(WRITER, request(text=lines(40)))
        parts: list[EmbedJob] = []
        world.queue.drain({ParseJob: world.handle, EmbedJob: parts.append})
        world.handle(parts[0])
        world.use_model("words-2")
        return parts[1]

    def test_embed_sends_the_job_and_the_version_waits(
        self, world: World, second: EmbedJob
    ) -> None:
        world.handle(second)
        job = RejectJob(GUIDE, 1, ("model-revision-changed",))
        assert world.queue.pending == (job,)
        assert of(world, GUIDE).state is VersionState.PENDING
        world.work()
        record = of(world, GUIDE)
        assert (record.state, record.reasons) == (VersionState.REJECTED, job.reasons)
        assert head_of(world, GUIDE).state is VersionState.REJECTED

    def test_told_twice_and_killed_in_between_it_ends_the_same(
        self, world: World, second: EmbedJob
    ) -> None:
        world.killer.calls = 0
        world.handle(second)
        for call in range(1, world.killer.calls + 1):
            world.killer.calls, world.killer.at = 0, call
            with pytest.raises(Crash):
                world.handle(second)
            world.handle(second)
        world.work()
        assert of(world, GUIDE).state is VersionState.REJECTED
        world.handle(second)
        world.work()
        assert of(world, GUIDE).reasons == ("model-revision-changed",)

    def test_a_rejected_version_is_said_again_in_a_new_one(
        self, world: World, second: EmbedJob
    ) -> None:
        world.handle(second)
        world.work()
        world.while_waiting = world.work
        done = world.post_document(WRITER, request(text=lines(40)))
        assert (done.record.version, done.record.state) == (2, VersionState.ACTIVE)
