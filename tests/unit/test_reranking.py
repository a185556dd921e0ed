"""A reranker between fusion and reputation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from custody.application.reading.answer import AnswerRequest
from custody.application.reading.search import SearchRequest, SearchResult
from custody.domain.model import Acl, Chunk, Control, PolicyRef
from custody.domain.ranking.reputation import ReputationPolicy
from custody.errors import Unavailable
from tests.support.search_world import World, reader

QUESTION = "How many weeks of parental leave do employees get?"
LEAVE = "Employees get sixteen weeks of parental leave."
LUNCH = "Lunch is served at noon."


class Judge:
    """Scores a passage by what a test says of its text."""

    name = "judge-1"

    def __init__(self, score: Callable[[Chunk], float]) -> None:
        self.score = score
        self.fault: Exception | None = None
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def rerank(self, question: str, items: Sequence[Chunk]) -> Sequence[float]:
        self.asked.append((question, tuple(item.text for item in items)))
        if self.fault is not None:
            raise self.fault
        return [self.score(item) for item in items]


@pytest.fixture
def judge() -> Judge:
    """What fusion puts last comes first."""
    return Judge(lambda item: 0.03 if item.text == LUNCH else 0.01)


@pytest.fixture
def world(judge: Judge) -> World:
    made = World(reranker=judge)
    made.publish("leave", LEAVE)
    made.publish("lunch", LUNCH)
    return made


def search(world: World, rerank: bool | None = True, query: str = QUESTION) -> SearchResult:
    return world.search(reader(), SearchRequest(query, rerank=rerank))


def found(result: SearchResult) -> list[str]:
    return [item.key.document_id for item in result.results]


def test_its_scores_order_the_candidates_and_are_told_beside_those_of_fusion(
    world: World,
) -> None:
    fused = search(world, rerank=False)
    result = search(world)
    assert found(fused) == ["leave", "lunch"]
    assert found(result) == ["lunch", "leave"]
    assert [item.scores.rerank for item in result.results] == [0.03, 0.01]
    assert [item.scores.rerank for item in fused.results] == [None, None]
    before = {item.chunk_id: (item.scores.legs, item.scores.fusion) for item in fused.results}
    after = {item.chunk_id: (item.scores.legs, item.scores.fusion) for item in result.results}
    assert after == before
    assert result.degraded == ()


def test_its_scores_go_to_reputation_under_its_own_name(world: World) -> None:
    result = search(world)
    assert world.policies.rankers == ["judge-1"]
    assert result.results[1].scores.normalized == pytest.approx(0.01 / (2 / 61))
    trace = world.trace(result.trace_id)
    assert trace.retrieval.ranker == "judge-1"
    assert [item.scores.rerank for item in trace.evidence] == [0.03, 0.01]


def test_reputation_still_has_the_last_word(judge: Judge) -> None:
    world = World(reranker=judge, scores={"acme/press": 1.0}, weight=0.9)
    world.publish("leave", LEAVE, source_id="press")
    world.publish("lunch", LUNCH)
    assert found(search(world)) == ["leave", "lunch"]


def test_it_judges_the_question_that_was_asked_by_verified_evidence_only(
    world: World, judge: Judge
) -> None:
    closed = world.publish("closed", "Closed. " + LEAVE)
    world.change_head(closed, narrowed_to=Acl.of("user:bob"))
    world.answers(reader(), AnswerRequest(SearchRequest(QUESTION, rerank=True), threshold=1.0))
    assert len(judge.asked) > 1
    for question, texts in judge.asked:
        assert question == QUESTION
        assert set(texts) == {LEAVE, LUNCH}


@pytest.mark.parametrize("rerank", [None, False])
def test_who_does_not_ask_for_it_is_served_as_ever(
    world: World, judge: Judge, rerank: bool | None
) -> None:
    result = search(world, rerank=rerank)
    assert found(result) == ["leave", "lunch"]
    assert result.degraded == ()
    assert judge.asked == []
    assert world.policies.rankers == ["rrf"]


BROKEN: dict[str, Callable[[Judge], None]] = {
    "down": lambda judge: setattr(judge, "fault", Unavailable("down")),
    "no number": lambda judge: setattr(judge, "score", lambda item: float("nan")),
    "too few": lambda judge: setattr(judge, "rerank", lambda question, items: [0.5]),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_without_its_scores_the_order_of_fusion_stays_and_it_is_said(
    world: World, judge: Judge, broken: str
) -> None:
    BROKEN[broken](judge)
    result = search(world)
    assert found(result) == ["leave", "lunch"]
    assert result.degraded == ("rerank-not-available",)
    assert [item.scores.rerank for item in result.results] == [None, None]
    assert world.policies.rankers == ["rrf"]
    assert world.trace(result.trace_id).request.degraded == result.degraded


def test_an_answer_says_once_what_each_of_its_attempts_missed(world: World, judge: Judge) -> None:
    judge.fault = Unavailable("down")
    answer = world.answers(
        reader(), AnswerRequest(SearchRequest(QUESTION, rerank=True), threshold=1.0)
    )
    assert answer.retries >= 1
    assert answer.degraded == ("rerank-not-available",)
    assert world.trace(answer.answer_id).request.degraded == answer.degraded


def test_a_policy_without_bounds_for_it_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = world.policies.reputation

    def reputation(control: Control, ranker: str) -> tuple[PolicyRef, ReputationPolicy]:
        if ranker == "judge-1":
            raise Unavailable("It has no bounds for this ranker.", code="policy-unavailable")
        return held(control, ranker)

    monkeypatch.setattr(world.policies, "reputation", reputation)
    assert found(search(world, rerank=False)) == ["leave", "lunch"]
    with pytest.raises(Unavailable) as caught:
        search(world)
    assert caught.value.code == "policy-unavailable"


def test_nothing_found_is_nothing_to_judge(judge: Judge) -> None:
    result = search(World(reranker=judge))
    assert (result.results, result.degraded) == ((), ())
    assert judge.asked == []
