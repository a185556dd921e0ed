"""What was changed of whom and what is trusted: keys, policies, callers. Kept, never written again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from custody.domain.model import PolicyRef


class TrustAction(StrEnum):
    RETIRED = "retired"
    REVOKED = "revoked"
    CUT = "cut"
    PACKAGED = "packaged"  # a deployment put it in force
    ACTIVATED = "activated"
    ROLLED_BACK = "rolled-back"


@dataclass(frozen=True, slots=True)
class TrustChange:
    """``about``: ``key/<keyid>``, ``policy/<name>`` or ``principal/<subject>``. ``policy``: what is
    in force from then on; None where the tenant goes by the service's default again. ``by``: the
    subject who made it, None for a deployment."""

    about: str
    action: TrustAction
    at: datetime
    by: str | None = None
    reason: str | None = None
    policy: PolicyRef | None = None


def about_key(keyid: str) -> str:
    return f"key/{keyid}"


def about_policy(name: str) -> str:
    return f"policy/{name}"


def about_principal(subject: str) -> str:
    return f"principal/{subject}"


def policies_in_turn(changes: Iterable[TrustChange]) -> tuple[PolicyRef, ...]:
    """Those that a rollback may go back to, and the one in force as the last: each one that was put
    in force stands on those before it, and a rollback takes the last one away."""
    stack: list[PolicyRef] = []
    for change in changes:
        if change.action is TrustAction.ROLLED_BACK:
            if stack:
                stack.pop()
        elif change.policy is not None:
            stack.append(change.policy)
    return tuple(stack)
