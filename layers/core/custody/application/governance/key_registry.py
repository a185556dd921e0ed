"""The keys of the trust set: told to governors and auditors, taken out of use by the operators.

Keys are the whole service's, so only its operators change them: the governors of the tenant
``public``, as for public documents. What a key that is not ACTIVE has signed is not served from the
next read on. A retirement may be undone by whoever operates the tables; a revocation is final.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from custody.application.callers import require, trust_view_for
from custody.application.ports import Clock, TrustLedger, TrustReads
from custody.domain.intake import validation
from custody.domain.ledger.trust_changes import TrustAction, TrustChange, about_key
from custody.domain.model import (
    PUBLIC_TENANT,
    Control,
    KeyState,
    Principal,
    Scope,
    VerificationKey,
)
from custody.errors import Conflict, Forbidden, NotFound

MAX_REASON_CHARACTERS = 1_000
_STATE = {TrustAction.RETIRED: KeyState.RETIRED, TrustAction.REVOKED: KeyState.REVOKED}


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """``force``: also where no other active key of its purpose is left."""

    keyid: str
    reason: str
    force: bool = False


def require_operator(principal: Principal) -> None:
    """Raises Forbidden(scope-missing | not-an-operator)."""
    require(principal, Scope.GOVERN)
    if principal.tenant != PUBLIC_TENANT:
        raise Forbidden(
            f"What is the whole service's is governed by the tenant {PUBLIC_TENANT}.",
            code="not-an-operator",
        )


class KeyLedger(TrustReads, TrustLedger, Protocol):
    """What the registry of keys asks of the ledger."""


@dataclass(frozen=True, slots=True)
class KeyRegistry:
    ledger: KeyLedger
    clock: Clock

    def list_keys(self, principal: Principal) -> Sequence[VerificationKey]:
        """By purpose and id. Raises Forbidden(scope-missing)."""
        require(principal, Scope.GOVERN, Scope.AUDIT)
        keys = trust_view_for(self.ledger, principal).control.keys.values()
        return sorted(keys, key=lambda key: (key.purpose, key.keyid))

    def retire(self, principal: Principal, request: KeyRequest) -> VerificationKey:
        """Raises as ``revoke`` does."""
        return self._take_out(principal, request, TrustAction.RETIRED)

    def revoke(self, principal: Principal, request: KeyRequest) -> VerificationKey:
        """Raises Forbidden(scope-missing | not-an-operator), NotFound(key-not-found),
        Conflict(key-revoked | last-active-key)."""
        return self._take_out(principal, request, TrustAction.REVOKED)

    def _take_out(
        self, principal: Principal, request: KeyRequest, action: TrustAction
    ) -> VerificationKey:
        require_operator(principal)
        validation.printable(request.reason, field="reason", limit=MAX_REASON_CHARACTERS)
        control = trust_view_for(self.ledger, principal).control
        key = control.keys.get(request.keyid)
        if key is None:
            raise NotFound("There is no such key.", code="key-not-found")
        if not request.force and _is_last(key, control):
            raise Conflict(
                f"It is the last active key of purpose {key.purpose}: without it nothing that is "
                "asked is answered. Register another one first, or ask with force.",
                code="last-active-key",
            )
        return self.ledger.set_key_state(
            key.keyid,
            _STATE[action],
            TrustChange(
                about_key(key.keyid), action, self.clock.now(), principal.subject, request.reason
            ),
        )


def _is_last(key: VerificationKey, control: Control) -> bool:
    return key.state is KeyState.ACTIVE and not any(
        other.purpose == key.purpose and other.state is KeyState.ACTIVE and other.keyid != key.keyid
        for other in control.keys.values()
    )
