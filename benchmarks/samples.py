"""Text of our own making for figures that need no labels: seeded, so that a run can be repeated."""

from __future__ import annotations

import random
from collections.abc import Iterator

SYLLABLES = [
    "ba",
    "be",
    "bi",
    "bo",
    "da",
    "de",
    "di",
    "do",
    "fa",
    "fe",
    "ga",
    "go",
    "ka",
    "ke",
    "la",
    "le",
    "li",
    "lo",
    "ma",
    "me",
    "mi",
    "mo",
    "na",
    "ne",
    "ni",
    "no",
    "pa",
    "pe",
    "ra",
    "re",
    "ri",
    "ro",
    "sa",
    "se",
    "si",
    "so",
    "ta",
    "te",
    "ti",
    "to",
    "va",
    "ve",
    "za",
    "ze",
]


def vocabulary(size: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(words)


def documents(count: int, *, words: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """(title, text) with word frequencies that follow Zipf's law, as language does."""
    chance = random.Random(seed)
    known = vocabulary(20_000, seed)
    weights = [1.0 / (rank + 2) for rank in range(len(known))]
    for _ in range(count):
        drawn = chance.choices(known, weights, k=words + 8)
        sentences = [
            " ".join(drawn[start : start + 14]).capitalize() + "."
            for start in range(8, len(drawn), 14)
        ]
        yield " ".join(drawn[:8]).capitalize(), " ".join(sentences)
