"""What one retrieval is to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from custody.domain.index.candidates import LegQuery
from custody.domain.model import Leg


@dataclass(frozen=True, slots=True)
class Plan:
    """``question``: as it was asked; a reranker judges by it. ``query`` is what the index is asked;
    ``legs`` are those of its legs that rank, in the order of ``Leg`` (one may also run only to
    measure similarity). ``k``: how many items are shown at most. ``rerank``: a reranker was asked
    for. ``trust_domains`` narrows those that the tenant allows."""

    question: str
    query: LegQuery
    legs: tuple[Leg, ...]
    k: int
    fusion: str
    rerank: bool
    now: datetime
    trust_domains: frozenset[str] | None = None
    max_age: timedelta | None = None
