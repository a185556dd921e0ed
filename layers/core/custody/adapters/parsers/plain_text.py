"""Plain text: it is what it is."""

from __future__ import annotations

from custody.adapters.parsers.budget import Budget
from custody.adapters.parsers.draft import Draft


def read_text(text: str, budget: Budget) -> Draft:
    """Raises Rejected: ``too-much-text``."""
    budget.take(len(text))
    return Draft((budget.piece(text),))
