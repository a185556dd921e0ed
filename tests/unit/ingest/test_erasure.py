"""Erasure: hidden at once, then gone from every place, told as it was read back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from custody.application.erasure.places import Place, every_place
from custody.application.erasure.places.objects import RawObjects
from custody.application.erasure.propagate import PropagateErasure
from custody.application.erasure.request import ErasureRequest
from custody.application.evidence_files import read_chunks, read_vectors
from custody.application.ingestion.accept_drop import DropEvent, DropResult
from custody.application.ports import Matrix, ParsedDocument
from custody.domain.jobs import CleanupJob, EmbedJob, EraseJob, Job, ParseJob, PublishJob
from custody.domain.ledger.drops import Drop, DropState
from custody.domain.ledger.erasures import Erasure, ErasureLevel, ErasureState
from custody.domain.model import DocumentKey, Scope, SourceKey, VersionState
from custody.domain.provenance.identifiers import document_hash, drop_document_id
from custody.domain.storage import object_keys
from custody.errors import (
    CustodyError,
    Forbidden,
    IntegrityError,
    NotFound,
    PreconditionFailed,
    Unavailable,
)
from tests.support.ingest_world import (
    GOVERNOR,
    READER,
    STRANGER,
    TENANT,
    WRITER,
    WordEmbedder,
    World,
    lines,
    principal,
    request,
)
from tests.support.interposed import interposed

GUIDE = DocumentKey(TENANT, "guide")
WHY = ErasureRequest("guide", "asked by the customer")
WIKI = SourceKey(TENANT, "wiki")


def drop_document_key(name: str) -> DocumentKey:
    return DocumentKey(TENANT, drop_document_id("wiki", name))


@pytest.fixture
def world() -> World:
    world = World()
    world.source()
    return world


def holds(world: World, text: str) -> list[str]:
    """Every object of which any version still holds ``text``."""
    return [
        key
        for key, versions in world.objects._versions.items()
        for version in versions
        if version.body is not None and text.encode() in version.body
    ]


def test_an_erased_document_is_gone_at_the_next_read_whatever_the_index_holds(
    world: World,
) -> None:
    world.post_document(WRITER, request(text="secret"))
    world.erasures.request(WRITER, WHY)
    assert [entry.text for entry in world.index.visible()] == ["secret"]
    assert world.texts() == set()
    with pytest.raises(NotFound):
        world.documents.show(READER, "guide")


def test_every_copy_is_gone_and_the_receipt_says_so(world: World) -> None:
    for text in ("secret 1", "secret 2\nsecret 3", "secret 4"):
        world.post_document(WRITER, request(text=text, title="secret title"))
    erasure = world.erasures.request(WRITER, WHY)
    world.work()
    told = world.erasures.show(WRITER, erasure.erasure_id)
    assert told.state is ErasureState.COMPLETE
    assert told.completed_at is not None
    assert {a.location for a in told.artifacts} == {
        "ledger/versions", "index", "objects/raw", "objects/evidence", "objects/vectors",
    }  # fmt: skip
    assert all(a.level is ErasureLevel.DELETED and a.verified_at for a in told.artifacts)
    assert holds(world, "secret") == []
    assert world.objects.keys(f"vectors/{TENANT}") == ()
    assert world.index.visible() == ()
    for version in (1, 2, 3):
        record = world.ledger.version(GUIDE, version)
        assert record is not None
        assert (record.state, record.title, record.metadata) == (VersionState.ERASED, None, {})


def test_erasing_again_answers_with_the_same_erasure(world: World) -> None:
    world.post_document(WRITER, request())
    first = world.erasures.request(WRITER, WHY)
    assert world.erasures.request(WRITER, WHY).erasure_id == first.erasure_id
    world.work()
    assert world.erasures.request(WRITER, WHY).erasure_id == first.erasure_id
    world.work()
    assert world.erasures.show(WRITER, first.erasure_id).state is ErasureState.COMPLETE


def test_the_same_content_may_come_back_as_a_new_version(world: World) -> None:
    world.post_document(WRITER, request())
    erasure = world.erasures.request(WRITER, WHY)
    done = world.post_document(WRITER, request())
    assert (done.record.version, done.unchanged) == (2, False)
    world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, erasure.through_version))
    assert {(one.version, one.text) for one in world.served()} == {(2, "alpha"), (2, "beta")}
    assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE
    assert world.post_document(WRITER, request()).unchanged


def test_a_late_erasure_takes_nothing_of_a_version_that_came_back(world: World) -> None:
    world.post_document(WRITER, request(text="old secret"))
    erasure = world.erasures.request(WRITER, WHY)
    world.post_document(WRITER, request(text="new\nwords"))
    keys = set(world.objects.keys())
    world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, 1))
    assert world.texts() == {"new", "words"}
    assert holds(world, "old secret") == []
    left = set(world.objects.keys(""))
    assert {key for key in left if "/2" in key} == {key for key in keys if "/2" in key}


def test_a_version_on_its_way_never_becomes_live(world: World) -> None:
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="secret"))
    world.erasures.request(WRITER, WHY)
    world.work()
    assert world.index.visible() == ()
    assert holds(world, "secret") == []
    assert world.ledger.head(GUIDE).state is VersionState.ERASED  # type: ignore[union-attr]  # it is there


@pytest.mark.parametrize("done_before", range(4))
def test_each_step_that_runs_after_the_erasure_leaves_nothing(
    world: World, done_before: int
) -> None:
    """The ingestion stops after some step; the erasure passes; then the rest runs."""
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="secret"))
    steps = [ParseJob(GUIDE, 1), None, PublishJob(GUIDE, 1)]
    for step in range(done_before):
        if step == 1:
            world.handle(next(j for j in world.queue.sent if type(j).__name__ == "EmbedJob"))
        elif step < 3:
            world.handle(steps[step])  # type: ignore[arg-type]  # a job
    erasure = world.erasures.request(WRITER, WHY)
    world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, erasure.through_version))
    world.work()
    assert holds(world, "secret") == []
    assert world.index.visible() == ()
    assert world.served() == set()


def test_a_parse_that_ends_after_the_erasure_takes_its_chunks_back(world: World) -> None:
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="secret"))
    real = world.parse.parser.parse

    class Slow:
        def parse(self, content: bytes, *, content_type: str, name: str) -> ParsedDocument:
            erasure = world.erasures.request(WRITER, WHY)
            world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, erasure.through_version))
            return real(content, content_type=content_type, name=name)

    replace(world.parse, parser=Slow())(ParseJob(GUIDE, 1))
    world.work()
    assert holds(world, "secret") == []


def test_an_embedding_that_ends_after_the_erasure_takes_its_vectors_back(world: World) -> None:
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="secret"))
    world.parse(ParseJob(GUIDE, 1))
    job = EmbedJob(GUIDE, 1, part=0, first=0, last=1)

    class Slow(WordEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> Matrix:
            erasure = world.erasures.request(WRITER, WHY)
            world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, erasure.through_version))
            return super().embed_passages(texts)

    assert replace(world.embed, embedder=Slow())([job]) == ()
    assert world.objects.keys("vectors/") == ()
    world.work()
    assert world.index.visible() == ()


@dataclass
class Then:
    """A place, and what happens once it was visited."""

    place: Place
    act: Callable[[], object]

    @property
    def name(self) -> str:
        return self.place.name

    def concerns(self, erasure: Erasure) -> bool:
        return self.place.concerns(erasure)

    def erase(self, erasure: Erasure) -> str | None:
        told = self.place.erase(erasure)
        self.act()
        return told


@pytest.mark.parametrize("step", ["parse", "embed"])
def test_a_step_that_ends_between_two_places_leaves_nothing(world: World, step: str) -> None:
    """It began before the erasure, and writes where that has been already: the records, which it
    asks at its end, have to know first of all."""
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="secret"))
    began, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        began.set()
        assert go_on.wait(10)

    class SlowParser:
        def parse(self, content: bytes, *, content_type: str, name: str) -> ParsedDocument:
            wait()
            return world.service.parse.parser.parse(content, content_type=content_type, name=name)

    class SlowEmbedder(WordEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> Matrix:
            wait()
            return super().embed_passages(texts)

    def run() -> None:
        if step == "parse":
            replace(world.parse, parser=SlowParser())(ParseJob(GUIDE, 1))
        else:
            replace(world.embed, embedder=SlowEmbedder())([EmbedJob(GUIDE, 1, 0, 0, 1)])

    if step == "embed":
        world.parse(ParseJob(GUIDE, 1))
    running = threading.Thread(target=run)
    running.start()
    assert began.wait(10)
    erasure = world.erasures.request(WRITER, WHY)

    def end() -> None:
        go_on.set()
        running.join(10)

    places = [
        Then(place, end) if place.name == "objects/vectors" else place
        for place in world.propagate_erasure.places
    ]
    assert any(isinstance(place, Then) for place in places), [p.name for p in places]
    propagate = replace(world.propagate_erasure, places=tuple(places))
    propagate(EraseJob(GUIDE, erasure.erasure_id, 1))
    assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE
    assert holds(world, "secret") == []
    assert world.objects.keys("evidence/") == world.objects.keys("vectors/") == ()


@pytest.mark.parametrize("step", ["chunked", "part_done"])
def test_a_step_that_broke_off_after_the_erasure_is_taken_back_when_it_comes_again(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """It had written what it made, and never learned that the erasure had been there before."""
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="secret"))
    job: Job = ParseJob(GUIDE, 1)
    if step == "part_done":
        world.handle(job)
        job = EmbedJob(GUIDE, 1, part=0, first=0, last=1)

    real = world.objects.put

    def late(key: str, body: bytes, *, content_type: str) -> object:
        erasure = world.erasures.request(WRITER, WHY)
        world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, erasure.through_version))
        return real(key, body, content_type=content_type)

    def fails(*_: object, **__: object) -> None:
        raise Unavailable("The table failed.", code="ledger-unavailable")

    with monkeypatch.context() as broken:
        broken.setattr(world.objects, "put", late)
        broken.setattr(world.ledger, step, fails)
        with pytest.raises(Unavailable):
            world.handle(job)
    assert world.objects.keys("evidence/") + world.objects.keys("vectors/") != ()
    world.handle(job)
    assert world.objects.keys("evidence/") + world.objects.keys("vectors/") == ()


@pytest.mark.parametrize("superseded", [False, True])
def test_a_second_delivery_that_ends_after_publication_takes_nothing_away(
    world: World, superseded: bool
) -> None:
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="alpha"))
    real = world.parse.parser.parse

    def meanwhile() -> None:
        world.work()
        if superseded:
            world.post_document(WRITER, request(text="beta"))
            world.work()

    class SlowParser:
        def parse(self, content: bytes, *, content_type: str, name: str) -> ParsedDocument:
            meanwhile()
            return real(content, content_type=content_type, name=name)

    replace(world.parse, parser=SlowParser())(ParseJob(GUIDE, 1))
    record = world.ledger.version(GUIDE, 1)
    assert record is not None
    assert record.state is (VersionState.SUPERSEDED if superseded else VersionState.ACTIVE)
    assert [chunk.text for chunk in read_chunks(world.objects, record)] == ["alpha"]
    assert read_vectors(world.objects, record, 0, 1).shape[0] == 1


def test_a_second_embedding_that_ends_after_publication_takes_no_vectors_away(
    world: World,
) -> None:
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="alpha"))
    world.parse(ParseJob(GUIDE, 1))

    class Slow(WordEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> Matrix:
            world.work()
            return super().embed_passages(texts)

    job = EmbedJob(GUIDE, 1, part=0, first=0, last=1)
    assert replace(world.embed, embedder=Slow())([job]) == ()
    record = world.ledger.version(GUIDE, 1)
    assert record is not None
    assert record.state is VersionState.ACTIVE
    assert read_vectors(world.objects, record, 0, 1).shape[0] == 1
    world.handle(PublishJob(GUIDE, 1))
    assert world.texts() == {"alpha"}


def test_a_version_that_is_erased_while_it_is_signed_reaches_no_index(world: World) -> None:
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="secret"))
    world.queue.drain({ParseJob: world.handle, EmbedJob: world.handle, PublishJob: _lose})

    class Slow:
        def sign(self, payload_type: str, payload: bytes) -> object:
            erasure = world.erasures.request(WRITER, WHY)
            world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, erasure.through_version))
            return world.signer.sign(payload_type, payload)

    world.index.calls.clear()
    assert replace(world.publish, signer=Slow())([PublishJob(GUIDE, 1)]) == ()  # type: ignore[arg-type]  # only signs
    assert "put" not in world.index.calls
    assert "ensure" not in world.index.calls
    world.work()
    assert world.post_document(WRITER, request(text="again")).record.version == 2
    world.work()
    assert world.texts() == {"again"}


def _lose(job: object) -> None:
    """A job that never arrives."""


def test_a_refusal_that_ends_after_the_erasure_keeps_no_copy(world: World) -> None:
    world.accept_drop(world.drop("a.txt", b"!reject bad secret"))
    key = DocumentKey(TENANT, drop_document_id("wiki", "a.txt"))
    real = world.ledger.drop

    def slow(source: SourceKey, name: str) -> Drop | None:
        world.ledger.drop = real  # type: ignore[method-assign]  # put back
        erasure = world.erasures.request(WRITER, replace(WHY, document_id=key.document_id))
        raw = world.objects._versions.pop(f"raw/{TENANT}/{document_hash(key.document_id)}/1")
        drop = real(source, name)
        world.propagate_erasure(EraseJob(key, erasure.erasure_id, 1))
        world.objects._versions[f"raw/{TENANT}/{document_hash(key.document_id)}/1"] = raw
        return drop

    world.ledger.drop = slow  # type: ignore[method-assign]  # an erasure comes between
    world.parse(ParseJob(key, 1))
    assert world.objects.keys("rejected/") == ()


def test_an_index_that_is_down_makes_it_partial_and_the_job_comes_again(world: World) -> None:
    world.post_document(WRITER, request(text="secret"))
    erasure = world.erasures.request(WRITER, WHY)
    world.index.down = True
    with pytest.raises(Unavailable) as caught:
        world.work()
    assert caught.value.code == "erasure-partial"
    told = world.erasures.show(WRITER, erasure.erasure_id)
    assert told.state is ErasureState.PARTIAL
    levels = {a.location: a.level for a in told.artifacts}
    assert levels["index"] is ErasureLevel.HIDDEN
    assert levels["objects/raw"] is ErasureLevel.DELETED
    assert holds(world, "secret") == []
    world.index.down = False
    world.work()
    assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE


@dataclass
class Cache:
    """A place that a test adds. ``left``: deliveries that find something."""

    name: str
    left: int = 0
    here: bool = True
    seen: list[str] = field(default_factory=list)

    def concerns(self, erasure: Erasure) -> bool:
        return self.here

    def erase(self, erasure: Erasure) -> str | None:
        self.seen.append(f"{self.name} {erasure.key.document_id} {erasure.through_version}")
        if self.left > 0:
            self.left -= 1
            raise Unavailable("Something is left.", code="store-unavailable")
        return "Gone."


def test_a_place_that_is_added_is_visited_in_its_turn_and_told(world: World) -> None:
    world.post_document(WRITER, request())
    seen: list[str] = []
    places = (
        Cache("first", left=1, seen=seen),
        Cache("elsewhere", here=False, seen=seen),
        Cache("last", seen=seen),
    )
    erasure = world.erasures.request(WRITER, WHY)
    propagate = PropagateErasure(places, world.ledger, world.builds, world.clock)
    job = EraseJob(GUIDE, erasure.erasure_id, 1)
    with pytest.raises(Unavailable) as caught:
        propagate(job)
    assert (caught.value.code, "first." in caught.value.detail) == ("erasure-partial", True)
    told = world.erasures.show(WRITER, erasure.erasure_id)
    assert [(a.location, a.level, a.verified_at is None, a.detail) for a in told.artifacts] == [
        ("first", ErasureLevel.HIDDEN, True, "store-unavailable: Something is left."),
        ("last", ErasureLevel.DELETED, False, "Gone."),
    ]
    propagate(job)
    assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE
    receipt = world.erasures.show(WRITER, erasure.erasure_id)
    propagate(job)
    assert seen == ["first guide 1", "last guide 1"] * 3
    assert world.erasures.show(WRITER, erasure.erasure_id) == receipt


def test_chunks_that_can_still_be_found_are_not_told_as_deleted(world: World) -> None:
    world.post_document(WRITER, request())
    erasure = world.erasures.request(WRITER, WHY)
    world.index.delete = lambda *args, **kwargs: None  # type: ignore[method-assign]  # deletes nothing
    with pytest.raises(Unavailable):
        world.work()
    told = world.erasures.show(WRITER, erasure.erasure_id)
    assert told.state is ErasureState.PARTIAL


def test_objects_that_are_left_are_not_told_as_deleted(world: World) -> None:
    world.post_document(WRITER, request())
    erasure = world.erasures.request(WRITER, WHY)
    world.objects.delete = _deletes_nothing  # type: ignore[method-assign]  # for all that follows
    with pytest.raises(Unavailable):
        world.work()
    levels = {
        a.location: a.level for a in world.erasures.show(WRITER, erasure.erasure_id).artifacts
    }
    assert levels["objects/evidence"] is levels["objects/raw"] is ErasureLevel.HIDDEN
    assert levels["ledger/versions"] is ErasureLevel.DELETED


def _deletes_nothing(prefix: str, *, doomed: object = None) -> int:
    return 0


def test_older_versions_of_an_object_that_are_left_are_not_told_as_deleted(world: World) -> None:
    """A delete marker hides them from a plain look at the key."""
    world.post_document(WRITER, request(text="secret"))
    erasure = world.erasures.request(WRITER, WHY)

    def mark_only(prefix: str, *, doomed: object = None) -> int:
        for key in world.objects.keys(prefix):
            world.objects.mark_deleted(key)
        return 1

    world.objects.delete = mark_only  # type: ignore[method-assign]  # leaves older versions
    with pytest.raises(Unavailable):
        world.work()
    levels = {
        a.location: a.level for a in world.erasures.show(WRITER, erasure.erasure_id).artifacts
    }
    assert levels["objects/raw"] is ErasureLevel.HIDDEN
    assert holds(world, "secret") != []


class TestWhatNobodyKnowsOf:
    """Bytes that were put for a version which was never accepted."""

    def orphan(self, world: World, version: int, text: bytes = b"an orphan") -> None:
        key = object_keys.raw(GUIDE, version)
        world.objects.put(key, text, content_type="text/plain")

    def test_it_is_erased_with_the_document(self, world: World) -> None:
        world.post_document(WRITER, request(text="first"))
        self.orphan(world, 2)
        self.orphan(world, 1)  # overtaken: the record pins other bytes
        world.erasures.request(WRITER, WHY)
        world.work()
        assert holds(world, "an orphan") == holds(world, "first") == []

    def test_a_version_that_came_after_the_request_keeps_its_own(self, world: World) -> None:
        world.post_document(WRITER, request(text="first"))
        erasure = world.erasures.request(WRITER, WHY)
        self.orphan(world, 2)
        world.clock.sleep(5)
        world.post_document(WRITER, request(text="second"))
        world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, 1))
        assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE
        assert world.texts() == {"second"}
        assert holds(world, "second") != []
        world.parse(ParseJob(GUIDE, 2))

    def test_what_a_record_pins_stays_whatever_the_stores_clock_says(self, world: World) -> None:
        """It tells whole seconds, and its clock may be behind."""
        world.post_document(WRITER, request(text="first"))
        erasure = world.erasures.request(WRITER, WHY)
        world.post_document(WRITER, request(text="second"))
        late = replace(erasure, requested_at=world.clock.now() + timedelta(minutes=1))
        RawObjects(world.ledger, world.objects).erase(late)
        assert world.objects.keys("raw/") == (object_keys.raw(GUIDE, 2),)

    def test_bytes_that_are_about_to_be_accepted_stay(self, world: World) -> None:
        world.post_document(WRITER, request(text="first"))
        erasure = world.erasures.request(WRITER, WHY)
        world.clock.sleep(5)
        self.orphan(world, 2, b"on its way")
        world.propagate_erasure(EraseJob(GUIDE, erasure.erasure_id, 1))
        assert holds(world, "on its way") != []


def test_a_thousand_versions_take_a_few_calls_of_the_store(world: World) -> None:
    for version in range(1, 1_001):
        world.objects.put(object_keys.raw(GUIDE, version), b"x", content_type="text/plain")
        for kind in ("evidence", "vectors"):
            key = f"{object_keys.folder(kind, GUIDE)}{version}/a"
            world.objects.put(key, b"x", content_type="text/plain")
    erasure = Erasure("er", GUIDE, 1_000, "r", "ci", world.clock.now())
    calls: list[str] = []

    def counted(name: str, call: Callable[[], object]) -> object:
        calls.append(name)
        return call()

    store = interposed(world.objects, counted)
    places = every_place(ledger=world.ledger, objects=store, index=world.index, clock=world.clock)
    for place in places:
        if place.name in ("objects/raw", "objects/evidence", "objects/vectors"):
            place.erase(erasure)
    assert calls == ["delete", "versions"] * 3
    assert world.objects.keys() == ()


def test_a_drop_is_erased_with_its_object_sidecar_and_rejected_copies(world: World) -> None:
    name = "secret.txt"
    world.deliver(world.drop(name, b"secret one"))
    world.deliver(world.drop(name + ".metadata.json", b'{"metadataAttributes": {"a": "secret"}}'))
    world.deliver(world.drop(name, b"!reject too-many-chunks secret"))
    assert holds(world, "secret one")
    document = drop_document_id("wiki", name)
    erasure = world.erasures.request(WRITER, replace(WHY, document_id=document))
    world.work()
    assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE
    assert holds(world, "secret") == []
    assert world.objects.keys() == ()
    assert world.ledger.drop(WIKI, name).state is DropState.REMOVED  # type: ignore[union-attr]  # it is there


def test_a_file_dropped_again_after_the_erasure_stays(world: World) -> None:
    event = world.drop("a.txt", b"secret")
    world.deliver(event)
    document = drop_document_id("wiki", "a.txt")
    erasure = world.erasures.request(WRITER, replace(WHY, document_id=document))
    world.clock.sleep(1)
    later = world.drop("a.txt", b"harmless")
    world.work()
    assert holds(world, "secret") == []
    assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE
    world.deliver(event)
    world.deliver(later)
    assert world.texts() == {"harmless"}


def test_a_file_that_was_accepted_again_before_the_erasure_came_stays(world: World) -> None:
    world.deliver(world.drop("a.txt", b"secret"))
    document = drop_document_id("wiki", "a.txt")
    erasure = world.erasures.request(WRITER, replace(WHY, document_id=document))
    world.clock.sleep(1)
    world.accept_drop(world.drop("a.txt", b"harmless"))
    world.work()
    assert holds(world, "secret") == []
    assert world.texts() == {"harmless"}
    told = world.erasures.show(WRITER, erasure.erasure_id)
    assert told.state is ErasureState.COMPLETE
    details = {a.location: a.detail for a in told.artifacts}
    assert details["objects/incoming"] == "An object that was dropped later stays."
    assert world.ledger.drop(WIKI, "a.txt").state is DropState.ACTIVE  # type: ignore[union-attr]  # it is there


def test_redelivered_events_never_revive_an_erased_drop(world: World) -> None:
    event = world.drop("a.txt", b"secret")
    world.deliver(event)
    world.erasures.request(WRITER, replace(WHY, document_id=drop_document_id("wiki", "a.txt")))
    world.accept_drop(event)  # the object is still there: the erasure has not reached it
    world.work()
    world.deliver(event)
    assert world.served() == set()
    assert holds(world, "secret") == []


SIDECAR = "a.txt.metadata.json"
TITLED = b'{"metadataAttributes": {"title": "secret title"}}'


class TestErasingADropBeforeItsEvents:
    """What is erased is the dropped object, whatever is told of it or laid beside it afterwards."""

    def erase(self, world: World) -> Erasure:
        document = drop_document_id("wiki", "a.txt")
        return world.erasures.request(WRITER, replace(WHY, document_id=document))

    def is_erased(self, world: World, erasure: Erasure) -> None:
        world.work()
        assert world.served() == set()
        assert holds(world, "secret one") == []
        assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE
        drop = world.ledger.drop(WIKI, "a.txt")
        assert drop is not None
        assert (drop.state, drop.reasons, drop.object) == (DropState.REMOVED, ("erased",), None)
        head = world.ledger.head(drop.document)
        assert head is not None
        assert head.state is VersionState.ERASED

    @pytest.mark.parametrize("later", [0, 1, 60])
    def test_a_sidecar_that_is_told_of_first_revives_nothing(
        self, world: World, later: int
    ) -> None:
        world.deliver(world.drop("a.txt", b"secret one"))
        event = world.drop(SIDECAR, TITLED)
        erasure = self.erase(world)
        world.clock.sleep(later)
        told = world.accept_drop(event)
        assert (told.result, told.reasons) == (DropResult.ERASED, ("erased",))
        self.is_erased(world, erasure)

    def test_a_sidecar_that_is_written_each_time_revives_nothing(self, world: World) -> None:
        world.deliver(world.drop("a.txt", b"secret one"))
        erasure = self.erase(world)
        for number in range(3):
            world.clock.sleep(5)
            told = world.accept_drop(world.drop(SIDECAR, TITLED + b" " * number))
            assert told.result is DropResult.ERASED
        self.is_erased(world, erasure)

    def test_the_deletion_of_its_sidecar_revives_nothing(self, world: World) -> None:
        world.drop(SIDECAR, TITLED)
        world.deliver(world.drop("a.txt", b"secret one"))
        erasure = self.erase(world)
        world.clock.sleep(5)
        assert world.accept_drop(world.undrop(SIDECAR)).result is DropResult.ERASED
        self.is_erased(world, erasure)

    def test_a_first_version_on_its_way_is_erased_for_good(self, world: World) -> None:
        event = world.drop("a.txt", b"secret one")
        world.accept_drop(event)
        erasure = self.erase(world)
        world.clock.sleep(5)
        world.accept_drop(world.drop(SIDECAR, TITLED))
        world.accept_drop(event)
        self.is_erased(world, erasure)

    def test_bytes_that_lay_there_unseen_are_erased_with_it(self, world: World) -> None:
        world.deliver(world.drop("a.txt", b"first"))
        unseen = world.drop("a.txt", b"secret one")
        erasure = self.erase(world)
        assert world.accept_drop(unseen).result is DropResult.ERASED
        self.is_erased(world, erasure)
        assert world.deliver(unseen)[0].result is DropResult.UNCHANGED
        self.is_erased(world, erasure)

    def test_an_upload_that_began_before_and_ended_after_the_receipt_is_erased(
        self, world: World
    ) -> None:
        world.deliver(world.drop("a.txt", b"first"))
        began = world.clock.time
        world.clock.sleep(5)
        erasure = self.erase(world)
        world.work()
        now, world.clock.time = world.clock.time, began  # an upload in parts has its start's time
        event = world.drop("a.txt", b"secret one")
        world.clock.time = now
        assert world.accept_drop(event).result is DropResult.ERASED
        self.is_erased(world, erasure)

    def test_an_object_of_a_store_whose_clock_is_ahead_is_known(self, world: World) -> None:
        now, world.clock.time = world.clock.time, world.clock.time + timedelta(minutes=1)
        event = world.drop("a.txt", b"secret one")
        world.clock.time = now
        world.deliver(event)
        erasure = self.erase(world)
        world.accept_drop(world.drop(SIDECAR, TITLED))
        self.is_erased(world, erasure)

    def test_what_is_dropped_a_second_later_is_new_and_the_erased_sidecar_is_not_its_own(
        self, world: World
    ) -> None:
        world.drop(SIDECAR, TITLED)
        world.deliver(world.drop("a.txt", b"secret one"))
        erasure = self.erase(world)
        world.clock.sleep(1)
        event = world.drop("a.txt", b"new")
        assert world.accept_drop(event).result is DropResult.ACCEPTED
        world.work()
        world.deliver(event)
        assert world.texts() == {"new"}
        assert holds(world, "secret") == []
        head = world.ledger.head(drop_document_key("a.txt"))
        assert head is not None
        assert (head.version, head.title) == (2, None)
        assert world.erasures.show(WRITER, erasure.erasure_id).state is ErasureState.COMPLETE

    def test_an_object_that_was_refused_since_is_judged_again_as_new(self, world: World) -> None:
        world.deliver(world.drop("a.txt", b"secret one"))
        self.erase(world)
        world.work()
        world.clock.sleep(2)
        broken = world.drop(SIDECAR, b"{")
        event = world.drop("a.txt", b"new")
        assert world.deliver(event)[0].result is DropResult.REJECTED
        assert world.deliver(broken)[0].result is DropResult.REJECTED
        world.deliver(world.drop(SIDECAR, b'{"metadataAttributes": {}}'))
        assert world.texts() == {"new"}


class TestNames:
    """A path may tell of whom a file is: nothing keeps it once the file is erased."""

    NAME = "hr/jane-doe-dismissal.txt"

    def test_neither_head_nor_receipt_nor_listing_keeps_the_path(self, world: World) -> None:
        world.deliver(world.drop(self.NAME, b"secret one"))
        key = drop_document_key(self.NAME)
        erasure = world.erasures.request(WRITER, replace(WHY, document_id=key.document_id))
        head = world.ledger.head(key)
        assert head is not None
        assert head.name == ""
        listed = world.documents.list_documents(
            WRITER, source_id=None, state=None, name=None, limit=10, cursor=None
        )
        assert [one.name for one in listed.items] == [""]
        world.work()
        kept = world.ledger.erasure(TENANT, erasure.erasure_id)
        assert kept is not None
        assert (kept.state, kept.name) == (ErasureState.COMPLETE, "")
        assert "jane" not in repr((world.ledger.head(key), kept, world.ledger.version(key, 1)))

    def test_it_is_kept_until_every_place_was_visited(self, world: World) -> None:
        world.deliver(world.drop(self.NAME, b"secret one"))
        key = drop_document_key(self.NAME)
        erasure = world.erasures.request(WRITER, replace(WHY, document_id=key.document_id))
        world.index.down = True
        with pytest.raises(Unavailable):
            world.work()
        kept = world.ledger.erasure(TENANT, erasure.erasure_id)
        assert kept is not None
        assert kept.name == self.NAME
        world.index.down = False
        world.propagate_erasure(EraseJob(key, erasure.erasure_id, 1))
        assert holds(world, "secret one") == []

    def test_the_file_may_come_back_under_its_path(self, world: World) -> None:
        world.deliver(world.drop(self.NAME, b"secret one"))
        key = drop_document_key(self.NAME)
        world.erasures.request(WRITER, replace(WHY, document_id=key.document_id))
        world.work()
        world.clock.sleep(2)
        world.deliver(world.drop(self.NAME, b"new"))
        head = world.ledger.head(key)
        assert head is not None
        assert head.name == self.NAME
        again = world.erasures.request(WRITER, replace(WHY, document_id=key.document_id))
        world.work()
        assert holds(world, "new") == []
        assert world.erasures.show(WRITER, again.erasure_id).state is ErasureState.COMPLETE


class TestMirroredDeletions:
    def test_an_upload_in_the_second_of_a_mirrored_deletion_is_new(self, world: World) -> None:
        world.source(mirror_deletes=True)
        world.deliver(world.drop("a.txt", b"secret one"))
        gone = world.undrop("a.txt")
        assert world.accept_drop(gone).result is DropResult.ERASED
        assert world.accept_drop(world.drop("a.txt", b"new")).result is DropResult.ACCEPTED
        world.work()
        assert world.texts() == {"new"}
        assert holds(world, "secret one") == []

    def test_an_erased_object_that_shows_again_stays_erased_and_takes_what_hid_it_along(
        self, world: World
    ) -> None:
        world.source(mirror_deletes=True)
        world.deliver(world.drop("a.txt", b"secret one"))
        TestErasingADropBeforeItsEvents().erase(world)
        world.clock.sleep(2)
        later = world.drop("a.txt", b"newer")
        world.accept_drop(later)
        world.handle(ParseJob(drop_document_key("a.txt"), 2))
        newest = world.objects._versions[later.key].pop()
        assert newest.body == b"newer"
        again = DropEvent(later.key, "F" * 16)
        assert world.accept_drop(again).result is DropResult.ERASED
        world.work()
        assert world.served() == set()
        assert holds(world, "secret one") == []

    def test_nobody_named_like_the_connector_reads_its_receipts(self, world: World) -> None:
        world.source(mirror_deletes=True)
        world.deliver(world.drop("a.txt", b"secret one"))
        world.deliver(world.undrop("a.txt"))
        head = world.ledger.head(drop_document_key("a.txt"))
        assert head is not None
        assert head.erasure_id is not None
        with pytest.raises(NotFound):
            world.erasures.show(replace(STRANGER, subject="s3"), head.erasure_id)
        assert world.erasures.show(WRITER, head.erasure_id).mirrored


def level_of(world: World, erasure: Erasure, location: str) -> ErasureLevel:
    told = world.erasures.show(WRITER, erasure.erasure_id)
    (artifact,) = (one for one in told.artifacts if one.location == location)
    return artifact.level


def test_a_record_that_is_not_stripped_is_not_told_as_erased(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post_document(WRITER, request(text="secret"))
    erasure = world.erasures.request(WRITER, WHY)
    with monkeypatch.context() as patch:
        patch.setattr(world.ledger, "mark_erased", lambda *_, **__: None)
        with pytest.raises(Unavailable) as caught:
            world.work()
    assert caught.value.code == "erasure-partial"
    assert level_of(world, erasure, "ledger/versions") is ErasureLevel.HIDDEN
    world.work()
    assert level_of(world, erasure, "ledger/versions") is ErasureLevel.DELETED


@pytest.mark.parametrize("arrives", [False, True], ids=["not-deleted", "dropped-this-moment"])
def test_an_object_that_is_left_under_incoming_is_not_told_as_deleted(
    world: World, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    world.deliver(world.drop("a.txt", b"secret"))
    document_id = drop_document_key("a.txt").document_id
    erasure = world.erasures.request(WRITER, replace(WHY, document_id=document_id))
    key = f"incoming/{TENANT}/wiki/a.txt"
    delete = world.objects.delete_object

    def forgetful(deleted: str, *, keep: Sequence[str] = ()) -> int:
        if deleted != key:
            return delete(deleted, keep=keep)
        if arrives:
            delete(deleted, keep=keep)
            world.clock.sleep(60)
            world.objects.put(key, b"news", content_type="text/plain")
        return 1

    with monkeypatch.context() as patch:
        patch.setattr(world.objects, "delete_object", forgetful)
        with pytest.raises(Unavailable) as caught:
            world.work()
    assert caught.value.code == "erasure-partial"
    assert level_of(world, erasure, "objects/incoming") is ErasureLevel.HIDDEN
    world.work()
    assert level_of(world, erasure, "objects/incoming") is ErasureLevel.DELETED
    assert world.objects.exists(key) is arrives
    assert holds(world, "secret") == []


def test_who_may_erase_and_who_may_know(world: World) -> None:
    world.post_document(WRITER, request())
    with pytest.raises(NotFound):
        world.erasures.request(STRANGER, WHY)
    with pytest.raises(NotFound):
        world.erasures.request(principal("ci", tenant="other"), WHY)
    with pytest.raises(Forbidden) as caught:
        world.erasures.request(
            principal("ann", "staff", scopes=frozenset({Scope.READ, Scope.ERASE})), WHY
        )
    assert caught.value.code == "not-a-writer"
    with pytest.raises(Forbidden) as caught:
        world.erasures.request(replace(WRITER, scopes=frozenset({Scope.WRITE})), WHY)
    assert caught.value.code == "scope-missing"
    assert world.texts() == {"alpha", "beta"}
    erasure = world.erasures.request(GOVERNOR, WHY)
    for outsider in (STRANGER, READER, principal("gov", tenant="other")):
        with pytest.raises(NotFound):
            world.erasures.show(outsider, erasure.erasure_id)
    for insider in (GOVERNOR, WRITER, principal("aud", scopes=frozenset({Scope.AUDIT}))):
        assert world.erasures.show(insider, erasure.erasure_id).reason == WHY.reason


@pytest.mark.parametrize("reason", ["", " ", "x" * 1001, "a\x07b"])
def test_a_bad_reason_erases_nothing(world: World, reason: str) -> None:
    world.post_document(WRITER, request())
    with pytest.raises(CustodyError) as caught:
        world.erasures.request(WRITER, replace(WHY, reason=reason))
    assert caught.value.status == 422
    assert world.texts() == {"alpha", "beta"}


def test_if_match_guards_an_erasure(world: World) -> None:
    world.post_document(WRITER, request())
    with pytest.raises(PreconditionFailed):
        world.erasures.request(WRITER, replace(WHY, if_match=1))
    assert world.texts() == {"alpha", "beta"}


def test_a_job_for_an_erasure_that_does_not_exist_fails(world: World) -> None:
    with pytest.raises(IntegrityError):
        world.propagate_erasure(EraseJob(GUIDE, "er-none", 1))


def test_duplicates_elsewhere_stay_and_are_not_served_as_the_erased_one(world: World) -> None:
    """Upload twice, delete the copy, upload another, ask for the copy's text."""
    world.post_document(WRITER, request("one", lines(3)))
    world.post_document(WRITER, request("copy", lines(3)))
    world.erasures.request(WRITER, replace(WHY, document_id="copy"))
    world.post_document(WRITER, request("three", "else"))
    assert {one.document_id for one in world.served()} == {"one", "three"}
    world.work()
    assert {one.document_id for one in world.served()} == {"one", "three"}


def test_clean_up_of_a_live_pending_or_unknown_version_does_nothing(world: World) -> None:
    world.post_document(WRITER, request())
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="next"))
    for version in (1, 2, 9):
        world.clean_up_superseded(CleanupJob(GUIDE, version))
    assert world.texts() == {"alpha", "beta"}
    world.work()
    assert world.texts() == {"next"}
