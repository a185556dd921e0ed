"""Invariant 4: the gate judges the question that was asked, whatever was rewritten to find evidence.

The rewriter is replaced by a hostile one, which asks for exactly what the evidence says: the most
that a rewrite could do to certify itself.
"""

from __future__ import annotations

from typing import Any

import pytest

import custody.application.reading.answer as module
from custody.application.reading.answer import Answer, AnswerRequest
from custody.application.reading.search import SearchRequest
from custody.domain.model import Leg
from custody.domain.ranking.rewriting import AddedTerm, Rewrite
from custody.domain.ranking.sufficiency import Verdict
from custody.domain.text.question import content_terms
from tests.support.search_world import World, reader

OFF_CORPUS = "Which team won the football cup in 1998?"
FACTS = (
    "Employees get sixteen weeks of parental leave.",
    "Lunch is served at noon in the canteen.",
    "Parking permits are renewed each January.",
)


@pytest.fixture
def world() -> World:
    made = World()
    for n, text in enumerate(FACTS):
        made.publish(f"fact{n}", text)
    return made


def ask(world: World, question: str, **changes: Any) -> Answer:
    return world.answers(reader(), AnswerRequest(SearchRequest(question), **changes))


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """The questions that the gate was asked about, as terms."""
    seen: list[frozenset[str]] = []
    real = module.judge

    def judge(question: frozenset[str], *args: Any, **kwargs: Any) -> Any:
        seen.append(question)
        return real(question, *args, **kwargs)

    monkeypatch.setattr(module, "judge", judge)
    return seen


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewrite that forgets the question and quotes the evidence word for word."""
    quotes = iter(FACTS * 9)

    def rewrite(question: str, *args: Any, **kwargs: Any) -> Rewrite:
        text = next(quotes)
        return Rewrite(text, tuple(AddedTerm(word, 0, 0) for word in text.lower().split()))

    monkeypatch.setattr(module, "rewrite", rewrite)


@pytest.mark.parametrize("preset", ["strict", "balanced", "lenient"])
def test_a_hostile_rewrite_never_turns_the_verdict(
    world: World, hostile: None, judged: list[frozenset[str]], preset: str
) -> None:
    answer = ask(world, OFF_CORPUS, preset=preset)
    assert answer.retries >= 1
    assert answer.verdict is Verdict.INSUFFICIENT
    assert answer.judgement.features.coverage == 0.0
    assert set(judged) == {content_terms(OFF_CORPUS)}
    assert len(judged) == len(answer.attempts)


def test_similarity_stays_that_with_the_question(world: World, hostile: None) -> None:
    before = ask(world, OFF_CORPUS).judgement.features.top
    vectors = {id(query.vector) for query in world.index.queries}
    assert len(world.index.queries) >= 2
    assert len(vectors) == 1
    assert world.embedder.asked == [OFF_CORPUS]
    asked_alone = world.search(reader(), SearchRequest(OFF_CORPUS))
    legs = [item.scores.legs for item in asked_alone.results]
    best = max(found[Leg.SEMANTIC].score for found in legs if Leg.SEMANTIC in found)
    assert before == pytest.approx(max(0.0, best))


def test_our_own_rewrites_are_judged_the_same_way(
    world: World, judged: list[frozenset[str]]
) -> None:
    answer = ask(world, OFF_CORPUS)
    assert answer.retries >= 1
    assert set(judged) == {content_terms(OFF_CORPUS)}


def test_false_passes_do_not_grow_with_retries(
    world: World, hostile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [
        OFF_CORPUS,
        "What is music?",
        "How tall is mount Everest?",
        "Who wrote the odyssey?",
        "Is the canteen strike legal under maritime law?",
    ]

    def passes(rewrites: int) -> set[str]:
        monkeypatch.setattr(module, "MAX_REWRITES", rewrites)
        found = [ask(world, question, preset="lenient") for question in questions]
        return {q for q, a in zip(questions, found, strict=True) if a.verdict is Verdict.ANSWERABLE}

    assert passes(2) == passes(0) == set()
