"""Which legs serve a question: a small explicit rule, with its reason.

In order: a comparison wants evidence from several places (a graph route would serve it; until there
is one, both legs do); a short question about a name, a code or an acronym is an exact-word lookup;
everything else uses both legs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from custody.domain.model import Leg

EXACT_LOOKUP_WORDS = 4  # more words than these carry meaning that exact words miss


class Route(StrEnum):
    SPARSE = "sparse"
    DENSE = "dense"
    HYBRID = "hybrid"

    @property
    def legs(self) -> frozenset[Leg]:
        """Those that rank."""
        return _LEGS[self]


_LEGS = {
    Route.SPARSE: frozenset({Leg.LEXICAL}),
    Route.DENSE: frozenset({Leg.SEMANTIC}),
    Route.HYBRID: frozenset({Leg.SEMANTIC, Leg.LEXICAL}),
}


@dataclass(frozen=True, slots=True)
class Routed:
    route: Route
    reason: str


_COMPARISON = re.compile(
    r"\b(compar(?:e|ed|es|ing|ison)|versus|vs|differ(?:s|ence|ences|ent)?\b.*\b(?:between|from)"
    r"|contrast(?:ed|ing)?)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w][\w.\-]*", re.UNICODE)
# letters mixed with digits, inner capitals or underscores, or all capitals: a name to be matched
_NAME = re.compile(r"(?=\w*[^\W\d_])(?=\w*\d)\w+|\w+_\w+|[A-Z]{2,}|[a-z]+[A-Z]\w*")


def choose(question: str) -> Routed:
    """The route for ``auto``."""
    if _COMPARISON.search(question):
        return Routed(Route.HYBRID, "comparison; no graph route in this deployment, so both legs")
    words = _WORD.findall(question)
    if len(words) <= EXACT_LOOKUP_WORDS and any(_NAME.fullmatch(word) for word in words):
        return Routed(Route.SPARSE, "short lookup of a name, a code or an acronym")
    return Routed(Route.HYBRID, "general question: words and meaning both count")
