"""No vectors are kept that were made for a version while it was erased or expired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from custody.application.erasure.expire_superseded import ExpireSuperseded
from custody.application.erasure.request import ErasureRequest
from custody.application.ports import Matrix
from custody.domain.index.builds import BuildState
from custody.domain.index.candidates import Space
from custody.domain.jobs import EraseJob, IndexJob
from custody.domain.ledger.erasures import ErasureState
from custody.domain.model import BuildKey, DocumentKey, ObjectRef
from custody.domain.storage import object_keys
from tests.support.ingest_world import KINDS, TENANT, WRITER, Crash, WordEmbedder
from tests.support.rebuild_world import ACME, PAST, RebuildWorld

DOC = DocumentKey(TENANT, "d1")
OTHER = "words-2"
MONTH = timedelta(days=30)


class Embedding(WordEmbedder):
    """Does ``act`` once, after the vectors of the first version were made and before they are
    stored."""

    def __init__(self) -> None:
        super().__init__(OTHER)
        self.act: Callable[[], object] | None = None

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        made = super().embed_passages(texts)
        if self.act is not None and any("one" in text for text in texts):
            act, self.act = self.act, None
            act()
        return made


@pytest.fixture
def other(world: RebuildWorld) -> Embedding:
    """Indices of both models are served, the history's too; d1 has two versions."""
    embedder = Embedding()
    world.other_embedder = embedder
    world._build()
    for text in ("one", "two"):
        world.publish_document("d1", text)
    world.work()
    return embedder


def both_models(world: RebuildWorld) -> None:
    world.begin("other")
    world.work()
    assert world.build(BuildKey(TENANT, "history-1")).state is BuildState.SERVED


def published(world: RebuildWorld, text: str) -> list[IndexJob]:
    """d1 is live with this text; what is to follow elsewhere has yet to."""
    kept: list[IndexJob] = []
    handlers = dict.fromkeys(KINDS, world.handle) | {IndexJob: kept.append}
    world.while_waiting = lambda: world.queue.drain(handlers)
    world.publish_document("d1", text)
    world.while_waiting()
    return kept


def held(world: RebuildWorld, space: Space) -> dict[str, dict[int, int]]:
    """By model, what the index of the space holds of d1: version -> chunks."""
    return {
        each.model_revision: {
            version: count
            for (_, version), count in world.index.counts_in(space, each.name, [DOC]).items()
        }
        for each in world.index.generations(space)
    }


def vectors(world: RebuildWorld, key: DocumentKey = DOC) -> Sequence[str]:
    return world.objects.keys(object_keys.folder("vectors", key))


def erased(world: RebuildWorld) -> EraseJob:
    erasure = world.erasures.request(WRITER, ErasureRequest("d1", "it is over"))
    job = EraseJob(erasure.key, erasure.erasure_id, erasure.through_version)
    world.propagate_erasure(job)
    return job


def test_a_version_follows_in_the_index_of_the_other_model(
    world: RebuildWorld, other: Embedding
) -> None:
    both_models(world)
    (job,) = published(world, "three\nmore")
    assert job == IndexJob(DOC, 3)
    assert held(world, ACME)[OTHER].get(3) is None
    world.service.index_elsewhere(job)
    assert held(world, ACME)[OTHER][3] == 2
    world.work()
    whole = {"words-1": {3: 2}, OTHER: {3: 2}}
    assert held(world, ACME) == whole
    assert held(world, PAST) == {"words-1": {1: 1, 2: 1}, OTHER: {1: 1, 2: 1}}
    world.service.index_elsewhere(job)
    assert held(world, ACME) == whole


@pytest.mark.parametrize("killed", [False, True])
def test_of_what_is_erased_while_its_vectors_are_made_nothing_is_kept(
    world: RebuildWorld, other: Embedding, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    both_models(world)
    (job,) = published(world, "three\nmore")
    for version in (1, 2):  # those of earlier versions have to be made again
        part = object_keys.vectors(DOC, version, OTHER, 0)
        world.objects.delete(part.rpartition("/")[0] + "/")
    jobs: list[EraseJob] = []
    other.act = lambda: jobs.append(erased(world))
    put = world.objects.put
    if killed:

        def put_and_die(key: str, body: bytes, *, content_type: str) -> ObjectRef:
            stored = put(key, body, content_type=content_type)
            if jobs:
                raise Crash("after put")
            return stored

        monkeypatch.setattr(world.objects, "put", put_and_die)
        world._build()
        with pytest.raises(Crash):
            world.service.index_elsewhere(job)
        monkeypatch.undo()
        world._build()
        assert vectors(world)
    world.service.index_elsewhere(job)
    assert vectors(world) == ()
    assert world.index.left(ACME, DOC) == world.index.left(PAST, DOC) == 0
    found = world.ledger.erasure(TENANT, jobs[0].erasure_id)
    assert found is not None
    assert found.state is ErasureState.COMPLETE


def test_of_what_expires_while_its_vectors_are_made_nothing_is_kept(
    world: RebuildWorld, other: Embedding
) -> None:
    world.publish_document("d0", "alpha")
    world.clock.sleep(40 * 24 * 3600)
    ports = world.ports
    expire = ExpireSuperseded(ports.work, ports.objects, ports.index, world.clock, MONTH)
    done: list[int] = []

    def expires() -> None:
        done.append(expire().versions)

    before = set(vectors(world))
    world.begin("other")
    history = BuildKey(TENANT, "history-1")
    other.act = expires
    world.run(history)
    assert done == [1]
    assert world.build(history).state is BuildState.SERVED
    assert set(vectors(world)) < before
    assert held(world, PAST)[OTHER] == {}
    world.work()
    assert held(world, ACME) == {"words-1": {2: 1}, OTHER: {2: 1}}
