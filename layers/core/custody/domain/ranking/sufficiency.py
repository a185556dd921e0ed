"""The sufficiency gate: is this evidence enough to answer the question that was asked?

    score = w_top * top + w_coverage * coverage + w_margin * margin + w_support * support

Each feature lies in 0..1:

``top``       the highest cosine of an item with the question, never below 0. Without a semantic leg
              it is the best item's coverage, at most 0.5: shared words alone can't speak for more.
``coverage``  the share of the question's content terms that the best single document holds. A
              question of one or two terms counts as having three: one word is shared by chance.
``margin``    how far the best document stands out: (top - mean of the other documents' best) / 0.30,
              cut to 0..1. With no other document it is ``top``: there is nothing to stand out from.
``support``   1.0 when two independent provenances carry the answer, 0.5 for one. Independent means
              another source and no near-duplicate of an item that counted already; an item carries
              it when its similarity is at least 0.40 and three quarters of the top, and its coverage
              reaches the coverage floor.

A decision passes when no floor is broken and the score reaches the threshold. When it does not, the
features below the threshold are the reasons: the score is their weighted mean, so a score below the
threshold always has at least one. A value that is not finite fails closed, whatever the threshold.

Weights, floors and presets come from the policy; the scales (0.30, 0.5, 0.40, three quarters, two,
three) are part of this heuristic, set by hand for cosines of MiniLM, and fitted to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from custody.domain.ranking.gate_policy import GatePolicy

MARGIN_SCALE = 0.30
LEXICAL_TOP = 0.5
SUPPORT_SHARE = 0.75
SUPPORT_SIMILARITY = 0.40
LEAST_TERMS = 3
SUPPORTERS = 2
DEFAULT_PRESET = "balanced"


class Reason(StrEnum):
    PASS = "PASS"  # noqa: S105  a verdict, no password
    LOW_TOP_SCORE = "LOW_TOP_SCORE"
    LOW_COVERAGE = "LOW_COVERAGE"
    NO_MARGIN = "NO_MARGIN"
    NO_CONSENSUS = "NO_CONSENSUS"
    NO_EVIDENCE = "NO_EVIDENCE"


class Verdict(StrEnum):
    ANSWERABLE = "answerable"
    INSUFFICIENT = "insufficient"
    NEEDS_REVIEW = "needs_review"  # for a generation that its evidence does not bear out


@dataclass(frozen=True, slots=True)
class GateItem:
    """One verified item. ``terms``: its content terms, title and heading included. ``cosine``: with
    the original question; None where the semantic leg did not find it. ``cluster``: equal for
    near-duplicates, None for an item that has none."""

    chunk_id: str
    document: tuple[str, str]  # tenant, document_id
    source: tuple[str, str]  # tenant, source_id
    terms: frozenset[str]
    cosine: float | None
    cluster: int | None = None


@dataclass(frozen=True, slots=True)
class Features:
    top: float
    coverage: float
    margin: float
    support: float


@dataclass(frozen=True, slots=True)
class Bar:
    """What must be reached. ``preset`` names where the floors come from; an explicit threshold
    replaces the preset's own."""

    preset: str
    threshold: float
    top_floor: float
    coverage_floor: float
    explicit: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    passed: bool
    score: float
    features: Features
    reasons: tuple[Reason, ...]
    explanation: str
    bar: Bar


def bar(policy: GatePolicy, *, preset: str | None, threshold: float | None) -> Bar:
    """An explicit threshold wins over a preset's; the floors stay those of the preset. Raises
    ValueError for a threshold outside 0..1, KeyError for an unknown preset."""
    name = preset or DEFAULT_PRESET
    found = policy.presets[name]
    if threshold is not None and not (math.isfinite(threshold) and 0.0 <= threshold <= 1.0):
        raise ValueError("a threshold lies between 0 and 1")
    return Bar(
        preset=name,
        threshold=found.threshold if threshold is None else float(threshold),
        top_floor=found.top_floor,
        coverage_floor=found.coverage_floor,
        explicit=threshold is not None,
    )


def judge(
    question: frozenset[str],
    evidence: Sequence[GateItem],
    *,
    policy: GatePolicy,
    bar: Bar,
    measured: bool,
) -> Judgement:
    """``question``: the content terms of the original question. ``measured``: whether
    similarities with it were, so that an absent cosine means "not similar" rather than "not known"."""
    if not evidence:
        nothing = Features(0.0, 0.0, 0.0, 0.0)
        return Judgement(
            False, 0.0, nothing, (Reason.NO_EVIDENCE,), "No verified evidence was found.", bar
        )
    if any(item.cosine is not None and not math.isfinite(item.cosine) for item in evidence):
        nothing = Features(0.0, 0.0, 0.0, 0.0)
        return Judgement(
            False,
            0.0,
            nothing,
            (Reason.LOW_TOP_SCORE,),
            "A similarity is no finite number, so nothing can be said for this evidence.",
            bar,
        )
    features = _features(question, evidence, bar, measured=measured)
    weights = policy.weights
    score = math.fsum(
        (
            weights.top * features.top,
            weights.coverage * features.coverage,
            weights.margin * features.margin,
            weights.support * features.support,
        )
    )
    reasons = _reasons(features, score, bar)
    passed = reasons == (Reason.PASS,)
    return Judgement(passed, score, features, reasons, _explain(features, score, reasons, bar), bar)


def _features(
    question: frozenset[str], evidence: Sequence[GateItem], bar: Bar, *, measured: bool
) -> Features:
    def covered(terms: frozenset[str]) -> float:
        return len(question & terms) / max(len(question), LEAST_TERMS)

    def similarity(item: GateItem) -> float:
        if not measured:
            return min(LEXICAL_TOP, covered(item.terms))
        return max(0.0, min(1.0, item.cosine)) if item.cosine is not None else 0.0

    terms_of: dict[tuple[str, str], frozenset[str]] = {}
    best_of: dict[tuple[str, str], float] = {}
    for item in evidence:
        terms_of[item.document] = terms_of.get(item.document, frozenset()) | item.terms
        best_of[item.document] = max(best_of.get(item.document, 0.0), similarity(item))
    coverage = max(covered(terms) for terms in terms_of.values())
    best, *others = sorted(best_of.values(), reverse=True)
    return Features(
        top=best,
        coverage=coverage,
        margin=_margin(best, others),
        support=_support(evidence, best, bar, similarity, covered),
    )


def _margin(best: float, others: Sequence[float]) -> float:
    if not others:
        return best
    return max(0.0, min(1.0, (best - math.fsum(others) / len(others)) / MARGIN_SCALE))


def _support(
    evidence: Sequence[GateItem],
    best: float,
    bar: Bar,
    similarity: Callable[[GateItem], float],
    covered: Callable[[frozenset[str]], float],
) -> float:
    sources: set[tuple[str, str]] = set()
    clusters: set[int] = set()
    for item in evidence:
        near = similarity(item)
        if near < max(SUPPORT_SHARE * best, SUPPORT_SIMILARITY):
            continue
        if covered(item.terms) < bar.coverage_floor:
            continue
        if item.source in sources or (item.cluster is not None and item.cluster in clusters):
            continue
        sources.add(item.source)
        if item.cluster is not None:
            clusters.add(item.cluster)
    return min(1.0, len(sources) / SUPPORTERS)


def _reasons(features: Features, score: float, bar: Bar) -> tuple[Reason, ...]:
    short = score < bar.threshold
    found = [
        reason
        for reason, value, floor in (
            (Reason.LOW_TOP_SCORE, features.top, bar.top_floor),
            (Reason.LOW_COVERAGE, features.coverage, bar.coverage_floor),
            (Reason.NO_MARGIN, features.margin, 0.0),
            (Reason.NO_CONSENSUS, features.support, 0.0),
        )
        if value < floor or (short and value < bar.threshold)
    ]
    return tuple(found) or (Reason.PASS,)


_SENTENCES: Mapping[Reason, str] = {
    Reason.LOW_TOP_SCORE: "the best passage is only loosely related to the question ({top:.2f})",
    Reason.LOW_COVERAGE: "no document holds enough of the question's own terms ({coverage:.2f})",
    Reason.NO_MARGIN: "no document stands out from the others ({margin:.2f})",
    Reason.NO_CONSENSUS: "too few independent sources carry it ({support:.2f})",
}


def _explain(features: Features, score: float, reasons: Sequence[Reason], bar: Bar) -> str:
    name = "given" if bar.explicit else bar.preset
    if reasons == (Reason.PASS,):
        return f"The score {score:.2f} reaches the {name} threshold {bar.threshold:.2f}."
    values = {
        "top": features.top,
        "coverage": features.coverage,
        "margin": features.margin,
        "support": features.support,
    }
    why = "; ".join(_SENTENCES[reason].format(**values) for reason in reasons)
    if score < bar.threshold:
        return f"The score {score:.2f} is below the {name} threshold {bar.threshold:.2f}: {why}."
    return f"A floor of the {bar.preset} preset is broken, whatever the score: {why}."
