"""What counts as a name and as a number in rankings and their policies."""

from __future__ import annotations

import math
from typing import TypeGuard


def is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def is_finite_number(value: object) -> TypeGuard[float]:
    """A boolean is none."""
    if type(value) is float:  # the common case
        return math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond what a float holds
        return False
