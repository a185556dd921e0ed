"""The sufficiency gate's policy: weights, floors and presets. The heuristic itself is elsewhere.

    score = top * w_top + coverage * w_coverage + margin * w_margin + support * w_support

Source of the numbers in the default policy: the gate that seeds the design (0.35, 0.30, 0.20, 0.15;
thresholds 0.70, 0.55, 0.40; floors 0.10 for the top score, 0.35, 0.25, 0.15 for coverage).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from custody.domain.ranking.checks import is_finite_number
from custody.errors import IntegrityError

PRESETS = ("strict", "balanced", "lenient")


@dataclass(frozen=True, slots=True)
class GateWeights:
    """Each 0..1; together 1."""

    top: float
    coverage: float
    margin: float
    support: float

    def __post_init__(self) -> None:
        values = [getattr(self, field.name) for field in fields(self)]
        if not all(_share(value) for value in values) or not math.isclose(math.fsum(values), 1.0):
            raise _invalid("weights lie between 0 and 1 and add up to 1")


@dataclass(frozen=True, slots=True)
class GatePreset:
    """``threshold`` for the score; below either floor nothing passes whatever the score is."""

    threshold: float
    top_floor: float
    coverage_floor: float

    def __post_init__(self) -> None:
        if not all(_share(getattr(self, field.name)) for field in fields(self)):
            raise _invalid("thresholds and floors lie between 0 and 1")


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """Making one checks it: IntegrityError(invalid-policy)."""

    version: str
    weights: GateWeights
    presets: Mapping[str, GatePreset]

    def __post_init__(self) -> None:
        if not self.version:
            raise _invalid("a version is missing")
        if set(self.presets) != set(PRESETS):
            raise _invalid("the presets are strict, balanced and lenient")
        thresholds = [self.presets[name].threshold for name in PRESETS]
        if sorted(thresholds, reverse=True) != thresholds:
            raise _invalid("strict asks for at least what balanced asks for, and that of lenient")


def _share(value: object) -> bool:
    return is_finite_number(value) and 0.0 <= value <= 1.0


def _invalid(why: str) -> IntegrityError:
    return IntegrityError(f"Not a gate policy: {why}.", code="invalid-policy")
