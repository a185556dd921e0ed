"""An index of another model is built beside the one that is served, and both follow what changes."""

from __future__ import annotations

from contextlib import suppress

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.application.ingestion.change_acl import AclRequest
from custody.application.ports import Matrix
from custody.domain.index.builds import BuildState
from custody.domain.jobs import CleanupJob, IndexJob, PublishJob
from custody.domain.model import DocumentKey
from custody.domain.storage import object_keys
from custody.errors import IntegrityError, Unavailable
from tests.support.ingest_world import GOVERNOR, TENANT, WRITER, WordEmbedder, principal
from tests.support.rebuild_world import ACME, PAST, RebuildWorld

LIVE = {("d0", 1), ("d1", 1), ("d2", 1)}
NEXT = "words-2"
GUIDE = DocumentKey(TENANT, "guide")


def prepared(world: RebuildWorld) -> None:
    for n in range(3):
        world.publish_document(f"d{n}", f"alpha {n}\nbeta {n}")
    world.use_other_model(NEXT)


def both(world: RebuildWorld) -> set[tuple[str, int]]:
    """What searches of either model serve: the same."""
    found = world.live()
    assert world.live(model=NEXT) == found
    return found


def built(world: RebuildWorld) -> None:
    prepared(world)
    key = world.begin("other")
    world.work()
    assert world.build(key).state is BuildState.SERVED


def test_vectors_are_made_once_and_stored_beside_those_of_the_former_model(
    world: RebuildWorld,
) -> None:
    built(world)
    assert both(world) == LIVE
    assert world.index.revisions(ACME) == {"words-1", NEXT}
    for n in range(3):
        key = DocumentKey(TENANT, f"d{n}")
        for revision in ("words-1", NEXT):
            assert world.objects.head(object_keys.vectors(key, 1, revision, 0)) is not None
    asked: list[object] = []
    assert world.other_embedder is not None
    embedder, real = world.other_embedder, world.other_embedder.embed_passages
    embedder.embed_passages = asked.append  # type: ignore[method-assign,assignment]  # must not be called
    world.begin("other")
    world.work()
    assert asked == []
    embedder.embed_passages = real  # type: ignore[method-assign]  # put back
    assert both(world) == LIVE


def test_the_index_of_the_former_model_stays_served_until_it_is_dropped(
    world: RebuildWorld,
) -> None:
    built(world)
    world.later(500)
    world.work()
    assert both(world) == LIVE
    first = next(b for b in world.told() if b.key.build_id == "live-0")
    assert first.state is BuildState.SERVED
    world.service.indices.drop(GOVERNOR, first.key.build_id)
    world.later(200)
    world.work()
    assert world.build(first.key).state is BuildState.RETIRED
    assert world.index.revisions(ACME) == {NEXT}
    assert world.live(model=NEXT) == LIVE
    with pytest.raises(IntegrityError) as refused:
        world.live()
    assert refused.value.code == "model-revision-mismatch"


def test_what_is_published_meanwhile_and_afterwards_follows(world: RebuildWorld) -> None:
    prepared(world)
    world.interrupter.moment = 12
    world.interrupter.act = lambda: world.publish_document("meanwhile", "alpha meanwhile")
    world.while_waiting = lambda: do_all(world)
    world.begin("other")
    do_all(world)
    world.publish_document("after", "alpha after")
    do_all(world)
    assert both(world) == LIVE | {("meanwhile", 1), ("after", 1)}


def do_all(world: RebuildWorld) -> None:
    for _ in range(20):
        with suppress(Unavailable):
            world.work()
            return
        world.later(61)


def test_an_acl_an_erasure_and_a_new_version_reach_both(world: RebuildWorld) -> None:
    built(world)
    world.change_acl(WRITER, AclRequest("d0", ("user:zoe",)))
    world.erasures.request(WRITER, ErasureRequest("d1", "it is over"))
    world.publish_document("d2", "alpha two\nbeta")
    world.work()
    assert both(world) == {("d2", 2)}
    assert both_for(world, "zoe") == {("d0", 1), ("d2", 2)}
    assert world.index.left(ACME, DocumentKey(TENANT, "d1")) == 0
    assert world.objects.keys(object_keys.folder("vectors", DocumentKey(TENANT, "d1"))) == ()


def both_for(world: RebuildWorld, subject: str) -> set[tuple[str, int]]:
    reader = principal(subject, "staff")
    return world.live(reader) & world.live(reader, model=NEXT)


def test_new_functions_publish_into_both_as_long_as_both_are_there(world: RebuildWorld) -> None:
    """The second half of a rollout: the deployment's own model is the next one."""
    built(world)
    world.embedder, world.other_embedder = WordEmbedder(NEXT), WordEmbedder("words-1")
    world._build()
    world.publish_document("new", "alpha new")
    world.work()
    found = world.live()
    assert found == world.live(model="words-1") == LIVE | {("new", 1)}


def test_a_version_of_the_former_model_is_moved_into_the_history_of_the_next(
    world: RebuildWorld,
) -> None:
    built(world)
    world.embedder, world.other_embedder = WordEmbedder(NEXT), None
    world._build()
    world.service.indices.drop(GOVERNOR, "live-0")
    world.later(200)
    world.work()
    world.publish_document("d2", "alpha two\nbeta")
    world.work()
    key = DocumentKey(TENANT, "d2")
    assert world.index.revisions(PAST) == {NEXT}
    assert world.index.count(PAST, key, 1) == 2
    assert world.index.left(ACME, key, 1) == 0
    assert world.live() == {("d0", 1), ("d1", 1), ("d2", 2)}


def test_a_live_version_of_the_former_model_is_mended_where_it_was_lost(
    world: RebuildWorld,
) -> None:
    built(world)
    world.embedder, world.other_embedder = WordEmbedder(NEXT), None
    world._build()
    world.service.indices.drop(GOVERNOR, "live-0")
    world.later(200)
    world.work()
    lost = DocumentKey(TENANT, "d1")
    world.index.delete(ACME, lost)
    assert world.live() == {("d0", 1), ("d2", 1)}
    world.publish_document("d1", "alpha 1\nbeta 1")  # says the same: it is put again
    world.work()
    assert world.live() == LIVE


def test_without_vectors_and_without_the_model_it_is_an_error_and_no_gap(
    world: RebuildWorld,
) -> None:
    built(world)
    world.other_embedder = None
    world._build()
    world.while_waiting = lambda: None
    world.publish_document("guide", "alpha guide")
    with pytest.raises(IntegrityError) as missing:
        world.work()
    assert missing.value.code == "vectors-missing"
    assert world.queue.pending[0] == IndexJob(GUIDE, 1)
    world.use_other_model(NEXT)
    world.work()
    assert both(world) == LIVE | {("guide", 1)}


def test_vectors_of_what_was_erased_while_they_were_made_are_taken_back(
    world: RebuildWorld,
) -> None:
    built(world)
    world.while_waiting = lambda: None
    world.publish_document("guide", "alpha guide")
    kept: list[object] = []
    kinds = dict.fromkeys((PublishJob, CleanupJob), world.handle)
    world.queue.drain(
        {type(job): kinds.get(type(job), world.handle) for job in world.queue.sent}
        | {IndexJob: kept.append}
    )
    assert kept == [IndexJob(GUIDE, 1)]
    embedder = world.other_embedder
    assert embedder is not None
    real = embedder.embed_passages

    def erase_meanwhile(texts: list[str]) -> Matrix:
        made = real(texts)
        world.erasures.request(WRITER, ErasureRequest("guide", "it is over"))
        world.work()
        return made

    embedder.embed_passages = erase_meanwhile  # type: ignore[method-assign,assignment]  # erased meanwhile
    world.service.index_elsewhere(IndexJob(GUIDE, 1))
    assert world.index.left(ACME, GUIDE) == 0
    assert world.objects.keys(object_keys.folder("vectors", GUIDE)) == ()
    world.service.index_elsewhere(IndexJob(GUIDE, 1))  # delivered again
    assert world.index.left(ACME, GUIDE) == 0
