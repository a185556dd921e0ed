"""Parts of several versions are embedded together; one's fault is not another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from custody.application.ports import Matrix
from custody.domain.jobs import EmbedJob
from custody.errors import Unavailable
from tests.support.ingest_world import WRITER, WordEmbedder, World, request


class Heard(WordEmbedder):
    """Counts its calls; can't take a text that holds ``poison``, and spoils one with ``nan``."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        self.calls.append(list(texts))
        if any("poison" in text for text in texts):
            raise Unavailable("The embedding model failed.", code="model-unavailable")
        matrix = super().embed_passages(texts)
        matrix[["nan" in text for text in texts]] = np.nan
        return matrix


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def world(heard: Heard) -> World:
    made = World()
    made.source()
    made.while_waiting = lambda: None
    made.embed = replace(made.embed, embedder=heard)
    return made


def parsed(world: World, **texts: str) -> dict[str, EmbedJob]:
    """The first embed job of each document."""
    for name, text in texts.items():
        world.post_document(WRITER, request(name, text))
    for job in list(world.queue.sent):
        world.parse(job)  # type: ignore[arg-type]  # a parse job
    return {
        job.key.document_id: job for job in reversed(world.queue.sent) if isinstance(job, EmbedJob)
    }


def done(world: World, job: EmbedJob) -> frozenset[int]:
    record = world.ledger.version(job.key, 1)
    assert record is not None
    return frozenset(record.parts_done)


def test_a_batch_is_one_call_and_each_part_gets_its_own_vectors(world: World, heard: Heard) -> None:
    jobs = parsed(world, one="alpha\nbeta", two="gamma", three="delta\nepsilon\nzeta")
    assert world.embed(list(jobs.values())) == ()
    assert len(heard.calls) == 1
    world.work()
    for entry in world.index.visible():
        assert entry.vector is not None
        assert np.allclose(entry.vector, heard.embed_query(entry.text))
    assert world.texts() == {"alpha", "beta", "gamma", "delta", "epsilon", "zeta"}


def test_what_the_model_cant_take_fails_alone(world: World, heard: Heard) -> None:
    jobs = parsed(world, good="alpha", bad="poison", other="gamma")
    failures = world.embed(list(jobs.values()))
    assert [(each.job, each.error.code) for each in failures] == [
        (jobs["bad"], "model-unavailable")
    ]
    assert done(world, jobs["good"]) == done(world, jobs["other"]) == {0}
    assert done(world, jobs["bad"]) == frozenset()


def test_a_spoilt_vector_fails_alone_and_is_not_stored(world: World, heard: Heard) -> None:
    jobs = parsed(world, good="alpha", bad="nan", other="gamma")
    failures = world.embed(list(jobs.values()))
    assert [(each.job, each.error.code) for each in failures] == [(jobs["bad"], "invalid-vector")]
    assert len(heard.calls) == 1
    assert len(world.objects.keys("vectors/")) == 2


def test_an_unknown_part_fails_alone(world: World) -> None:
    jobs = parsed(world, good="alpha")
    unknown = replace(jobs["good"], part=7, first=224, last=256)
    failures = world.embed([unknown, jobs["good"]])
    assert [(each.job, each.error.code) for each in failures] == [(unknown, "unknown-part")]
    assert done(world, jobs["good"]) == {0}
    assert len(world.objects.keys("vectors/")) == 1


def test_a_message_that_comes_twice_in_a_batch_is_embedded_once(world: World, heard: Heard) -> None:
    jobs = parsed(world, good="alpha")
    assert world.embed([jobs["good"], jobs["good"]]) == ()
    assert heard.calls == [["alpha"]]


def test_a_batch_with_nothing_left_to_embed_doesnt_ask_the_model(
    world: World, heard: Heard
) -> None:
    jobs = parsed(world, good="alpha")
    world.work()
    heard.calls.clear()
    assert world.embed([jobs["good"]]) == ()
    assert heard.calls == []
