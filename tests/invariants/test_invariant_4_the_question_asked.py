"""Invariant 4: the gate judges the question that was asked, whatever was rewritten to find evidence.

The rewriter is replaced by a hostile one, which asks for exactly what the evidence says: the most
that a rewrite could do to certify itself.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

from custody.application.ports import Judge, Rewriter
from custody.application.reading.answer import Answer, AnswerRequest
from custody.application.reading.search import SearchRequest
from custody.domain.model import Leg
from custody.domain.ranking.rewriting import MAX_REWRITES, AddedTerm, Rewrite, rewrite
from custody.domain.ranking.sufficiency import Judgement, Verdict, judge
from custody.domain.text.question import content_terms
from tests.support.search_world import World, reader

OFF_CORPUS = "Which team won the football cup in 1998?"
FACTS = (
    "Employees get sixteen weeks of parental leave.",
    "Lunch is served at noon in the canteen.",
    "Parking permits are renewed each January.",
)


def world_with(
    judge: Judge = judge, rewriter: Rewriter = rewrite, max_rewrites: int = MAX_REWRITES
) -> World:
    made = World(judge=judge, rewriter=rewriter, max_rewrites=max_rewrites)
    for n, text in enumerate(FACTS):
        made.publish(f"fact{n}", text)
    return made


def ask(world: World, question: str, **changes: Any) -> Answer:
    return world.answers(reader(), AnswerRequest(SearchRequest(question), **changes))


class Watched:
    """The gate, and the questions that it was asked about, as terms."""

    def __init__(self) -> None:
        self.questions: list[frozenset[str]] = []

    def __call__(self, question: frozenset[str], *args: Any, **kwargs: Any) -> Judgement:
        self.questions.append(question)
        return judge(question, *args, **kwargs)


class Hostile:
    """A rewriter that forgets the question and quotes the evidence word for word."""

    def __init__(self) -> None:
        self._quotes = cycle(FACTS)

    def __call__(self, question: str, *args: Any, **kwargs: Any) -> Rewrite:
        text = next(self._quotes)
        return Rewrite(text, tuple(AddedTerm(word, 0, 0) for word in text.lower().split()))


@pytest.mark.parametrize("preset", ["strict", "balanced", "lenient"])
def test_a_hostile_rewrite_never_turns_the_verdict(preset: str) -> None:
    gate = Watched()
    answer = ask(world_with(judge=gate, rewriter=Hostile()), OFF_CORPUS, preset=preset)
    assert answer.retries >= 1
    assert answer.verdict is Verdict.INSUFFICIENT
    assert answer.judgement.features.coverage == 0.0
    assert set(gate.questions) == {content_terms(OFF_CORPUS)}
    assert len(gate.questions) == len(answer.attempts)


def test_similarity_stays_that_with_the_question() -> None:
    world = world_with(rewriter=Hostile())
    before = ask(world, OFF_CORPUS).judgement.features.top
    vectors = {id(query.vector) for query in world.index.queries}
    assert len(world.index.queries) >= 2
    assert len(vectors) == 1
    assert world.embedder.asked == [OFF_CORPUS]
    asked_alone = world.search(reader(), SearchRequest(OFF_CORPUS))
    legs = [item.scores.legs for item in asked_alone.results]
    best = max(found[Leg.SEMANTIC].score for found in legs if Leg.SEMANTIC in found)
    assert before == pytest.approx(max(0.0, best))


def test_our_own_rewrites_are_judged_the_same_way() -> None:
    gate = Watched()
    answer = ask(world_with(judge=gate), OFF_CORPUS)
    assert answer.retries >= 1
    assert set(gate.questions) == {content_terms(OFF_CORPUS)}


def test_false_passes_do_not_grow_with_retries() -> None:
    questions = [
        OFF_CORPUS,
        "What is music?",
        "How tall is mount Everest?",
        "Who wrote the odyssey?",
        "Is the canteen strike legal under maritime law?",
    ]

    def passes(rewrites: int) -> set[str]:
        world = world_with(rewriter=Hostile(), max_rewrites=rewrites)
        found = [ask(world, question, preset="lenient") for question in questions]
        return {q for q, a in zip(questions, found, strict=True) if a.verdict is Verdict.ANSWERABLE}

    assert passes(2) == passes(0) == set()
