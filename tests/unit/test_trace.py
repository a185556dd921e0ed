"""What is kept of a search and an answer, as JSON and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from custody.application.reading.answer import AnswerRequest
from custody.application.reading.search import SearchRequest
from custody.application.reading.trace import AnswerTrace, FilterTrace, SearchTrace
from custody.application.reading.trace_codec import decode, encode
from custody.domain.index.candidates import Range
from custody.domain.model import Leg, MetadataValue
from custody.errors import IntegrityError
from tests.support.search_world import World, reader

QUESTION = "How many weeks of parental leave do employees get?"
FILTER: dict[str, MetadataValue] = {
    "team": 'a" OR "b',
    "year": 2026,
    "share": 0.5,
    "draft": False,
    "tags": ("x", "y"),
}


@pytest.fixture
def world() -> World:
    made = World()
    made.publish("leave", "Employees get sixteen weeks of parental leave.", metadata=FILTER)
    made.publish("lunch", "Lunch is served at noon in the canteen.")
    return made


def stored(world: World, trace_id: str) -> dict[str, Any]:
    found = world.traces.get("acme", trace_id)
    assert found is not None
    return dict(found[1])


@pytest.fixture
def answer(world: World) -> dict[str, Any]:
    """An answer with rewrites, as it was stored."""
    given = world.answers(reader(), AnswerRequest(SearchRequest(QUESTION), threshold=1.0))
    assert given.attempts[1].added_terms
    return stored(world, given.answer_id)


def test_a_search_comes_back_as_it_was(world: World) -> None:
    result = world.search(reader(), SearchRequest(QUESTION))
    trace = decode(stored(world, result.trace_id))
    assert isinstance(trace, SearchTrace)
    assert trace.recorded_at == trace.request.valid_at == world.clock.now()
    assert trace.request.legs == (Leg.SEMANTIC, Leg.LEXICAL)
    assert decode(encode(trace)) == trace


def test_an_answer_comes_back_as_it_was(answer: dict[str, Any]) -> None:
    trace = decode(answer)
    assert isinstance(trace, AnswerTrace)
    assert encode(trace) == answer


def test_every_score_of_an_item_is_kept(world: World) -> None:
    result = world.search(reader(), SearchRequest(QUESTION))
    trace = world.trace(result.trace_id)
    for item, kept in zip(result.results, trace.evidence, strict=True):
        scores = item.scores
        assert {leg: (at.rank, at.score) for leg, at in kept.scores.legs.items()} == scores.legs
        assert (kept.scores.fusion, kept.scores.rerank) == (scores.fusion, scores.rerank)
        assert (kept.scores.normalized, kept.scores.reputation, kept.scores.final) == (
            scores.normalized,
            scores.reputation,
            scores.final,
        )


def test_what_narrowed_a_search_is_kept_with_its_values(world: World) -> None:
    world.publish("release", "Pressed.", source_id="press")
    request = SearchRequest(
        QUESTION,
        filter=FILTER,
        source_ids=frozenset({"wiki", "press"}),
        trust_domains=frozenset({"internal"}),
        max_age_seconds=86_400,
    )
    result = world.search(reader(), request)
    assert world.trace(result.trace_id).request.filter == FilterTrace(
        metadata=FILTER,
        source_ids=("press", "wiki"),
        trust_domains=("internal",),
        max_age_seconds=86_400,
    )


@pytest.mark.parametrize("bounds", [Range(gte=2020), Range(lte=7.5), Range("2026-01-01T00:00:00Z")])
def test_a_range_is_kept_with_its_bounds(world: World, bounds: Range) -> None:
    result = world.search(reader(), SearchRequest(QUESTION, filter={"year": bounds}))
    assert world.trace(result.trace_id).request.filter.metadata == {"year": bounds}


DAMAGE: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "unknown field": lambda trace: trace.update(more=1),
    "unknown field below": lambda trace: trace["request"].update(more=1),
    "unknown field of an item": lambda trace: trace["evidence"][0].update(title="A title"),
    "missing field": lambda trace: trace.pop("retrieval"),
    "missing field below": lambda trace: trace["gate"].pop("reasons"),
    "earlier form of a filter": lambda trace: trace["request"].update(filter=[]),
    "count of terms": lambda trace: trace["attempts"][1].update(added_terms=2),
    "number as text": lambda trace: trace["request"].update(k="10"),
    "number as truth": lambda trace: trace["retrieval"].update(epoch=True),
    "no number": lambda trace: trace["gate"].update(score=float("nan")),
    "unknown leg": lambda trace: trace["request"].update(legs=["graph"]),
    "unknown reason": lambda trace: trace["gate"].update(reasons=["WHY"]),
    "no kind": lambda trace: trace.pop("kind"),
    "another kind": lambda trace: trace.update(kind="search"),
    "unknown kind": lambda trace: trace.update(kind="memory"),
    "a time without an offset": lambda trace: trace.update(recorded_at="2026-03-01T12:00:00"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_trace_of_another_form_is_an_error(answer: dict[str, Any], damage: str) -> None:
    changed = json.loads(json.dumps(answer))
    DAMAGE[damage](changed)
    with pytest.raises(IntegrityError) as caught:
        decode(changed)
    assert caught.value.code == "malformed-trace"


def test_what_is_said_of_a_damaged_trace_quotes_nothing_of_it(answer: dict[str, Any]) -> None:
    answer["request"]["query"] = ["a secret question"]
    with pytest.raises(IntegrityError) as caught:
        decode(answer)
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"
