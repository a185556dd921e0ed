"""RM3 rewrites from verified evidence: other words for the words leg, never another question.

    P(w | R) = sum over documents d of P(d) * tf(w, d) / |d|

with P(d) from the items' final scores. The terms of highest P that the question does not hold are
appended to it; the question's own words always stay. Source: Lavrenko and Croft, "Relevance-based
language models", SIGIR 2001; Abdul-Jaleel et al., "UMass at TREC 2004: novelty and HARD" (RM3).

A rewrite changes what the lexical leg retrieves. The semantic leg keeps the original question's
vector and the gate keeps judging the original question, so a rewrite can't certify itself.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

FEEDBACK_ITEMS = 3
ADDED_TERMS = 5
MAX_REWRITES = 2
MINIMUM_GAIN = 0.01


@dataclass(frozen=True, slots=True)
class Feedback:
    """One verified item: its ``words`` as they stand, in order, and its final score."""

    words: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class AddedTerm:
    """``word`` is ``feedback[item].words[position]``. Several items may hold it: ``item`` is the one
    of the highest score among those that hold it as it is spelled here, the first of equals, and
    ``position`` its first place there."""

    word: str
    item: int
    position: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """``query``: the question followed by the words of ``added``."""

    query: str
    added: tuple[AddedTerm, ...]

    @property
    def added_terms(self) -> tuple[str, ...]:
        return tuple(term.word for term in self.added)


def rewrite(
    question: str,
    feedback: Sequence[Feedback],
    *,
    term_of: Callable[[str], str | None],
    known: Collection[str],
) -> Rewrite | None:
    """``term_of``: a word's index term, None for a stop word. ``known``: terms of the question and
    of earlier rewrites. None when the evidence holds no term that is new."""
    top = [item for item in feedback[:FEEDBACK_ITEMS] if item.words]
    total = math.fsum(item.score for item in top)
    weights: defaultdict[str, float] = defaultdict(float)
    spelled: dict[str, Counter[str]] = {}
    for item in top:
        share = item.score / total if total > 0 else 1 / len(top)
        for word, count in Counter(item.words).items():
            term = term_of(word)
            if term is None or term in known or not _tells_something(word):
                continue
            weights[term] += share * count / len(item.words)
            spelled.setdefault(term, Counter())[word] += count
    best = sorted(weights, key=lambda term: (-weights[term], term))[:ADDED_TERMS]
    if not best:
        return None
    words = [min(spelled[term], key=lambda w: (-spelled[term][w], w)) for term in best]
    added = tuple(_placed(word, feedback[:FEEDBACK_ITEMS]) for word in words)
    return Rewrite(" ".join((question, *words)), added)


def _placed(word: str, feedback: Sequence[Feedback]) -> AddedTerm:
    holding = [at for at, item in enumerate(feedback) if word in item.words]
    best = max(holding, key=lambda at: feedback[at].score)  # the first of equals
    return AddedTerm(word, best, feedback[best].words.index(word))


def _tells_something(word: str) -> bool:
    """Not a bare number and, in scripts with spaces, not a single letter."""
    return not word.isdecimal() and (len(word) > 1 or not word.isascii())
