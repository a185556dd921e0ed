"""What an answer is judged by, and how its question is asked in other words. Both only compute."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # only answers load the gate
    from custody.domain.ranking.gate_policy import GatePolicy
    from custody.domain.ranking.rewriting import Feedback, Rewrite
    from custody.domain.ranking.sufficiency import Bar, GateItem, Judgement


class Judge(Protocol):
    """The gate: ``custody.domain.ranking.sufficiency.judge``, or one that keeps its promises."""

    def __call__(
        self,
        question: frozenset[str],
        evidence: Sequence[GateItem],
        *,
        policy: GatePolicy,
        bar: Bar,
        measured: bool,
    ) -> Judgement: ...


class Rewriter(Protocol):
    """``custody.domain.ranking.rewriting.rewrite``, or one that keeps its promises."""

    def __call__(
        self,
        question: str,
        feedback: Sequence[Feedback],
        *,
        term_of: Callable[[str], str | None],
        known: Collection[str],
    ) -> Rewrite | None: ...
