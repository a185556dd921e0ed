"""Policies: signed, put in force, taken back.

A policy is signed first, and that changes nothing; a later step puts it in force, by its digest.
Between the two is the place of whatever judges it. The operators (governors of ``public``) govern
the service's defaults; another tenant's governors a policy of their own, which then goes before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, cast

from custody.application.callers import require, trust_view_for
from custody.application.governance.active_policies import (
    POLICY_PAYLOAD_TYPE,
    check_window,
    open_policy,
    policy_digest,
    signing_key,
)
from custody.application.governance.kinds import KINDS, PolicyKinds
from custody.application.governance.policy_kind import PolicyKind
from custody.application.ports import Clock, PolicyStore, Signer, TrustLedger, TrustReads, Verifier
from custody.application.races import again_when_moved
from custody.domain.ledger.trust_changes import (
    TrustAction,
    TrustChange,
    about_policy,
    policies_in_turn,
)
from custody.domain.model import PUBLIC_TENANT, Control, Envelope, PolicyRef, Principal, Scope
from custody.domain.provenance.canonical import canonical_json, parse_json
from custody.errors import Conflict, IntegrityError, NotFound, Unavailable, Unprocessable


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """``own``: the tenant's, and not the service's default. ``since`` None: it is not in force, or
    nobody told since when."""

    ref: PolicyRef
    envelope: Envelope
    own: bool
    since: datetime | None = None

    @property
    def document(self) -> dict[str, object]:
        return dict(cast("Mapping[str, object]", parse_json(self.envelope.payload)))


class PolicyLedger(TrustReads, TrustLedger, Protocol):
    """What the registry of policies asks of the ledger."""


@dataclass(frozen=True, slots=True)
class PolicyRegistry:
    ledger: PolicyLedger
    policies: PolicyStore
    signer: Signer
    verifier: Verifier
    clock: Clock
    kinds: PolicyKinds = KINDS

    def sign(self, principal: Principal, name: str, document: Mapping[str, object]) -> StoredPolicy:
        """Checked by its kind, signed, kept; not in force. Raises Forbidden(scope-missing),
        NotFound(policy-not-found), Unprocessable(invalid-policy)."""
        require(principal, Scope.GOVERN)
        kind = self._kind(name)
        control = trust_view_for(self.ledger, principal).control
        try:
            payload = canonical_json(document)
            version = kind.read(payload).version
        except IntegrityError as error:
            raise Unprocessable(error.detail, code="invalid-policy", field="document") from None
        envelope = self.signer.sign(POLICY_PAYLOAD_TYPE, payload)
        ref = PolicyRef(name, version, policy_digest(envelope))
        self._usable(kind, ref, envelope, control)
        self.policies.put(ref, envelope)
        return StoredPolicy(ref, envelope, own=principal.tenant != PUBLIC_TENANT)

    def activate(self, principal: Principal, name: str, digest: str) -> StoredPolicy:
        """From the next read on. Raises Forbidden(scope-missing), NotFound(policy-not-found),
        Conflict(policy-unusable)."""
        require(principal, Scope.GOVERN)
        kind = self._kind(name)
        control = trust_view_for(self.ledger, principal).control
        envelope = self._stored(digest)
        try:
            version = kind.read(envelope.payload).version
        except IntegrityError:
            raise _no_such_policy() from None  # of another kind
        ref = PolicyRef(name, version, digest)
        self._usable(kind, ref, envelope, control)
        return self._put(principal, ref, envelope, TrustAction.ACTIVATED, control)

    def roll_back(self, principal: Principal, name: str) -> StoredPolicy:
        """To the one that was in force before; a tenant's first one gives way to the service's
        default. Raises Forbidden(scope-missing), NotFound(policy-not-found),
        Conflict(no-earlier-policy | policy-unusable)."""
        require(principal, Scope.GOVERN)
        kind = self._kind(name)
        return again_when_moved(
            lambda: self._roll_back(principal, kind),
            lost="The policy is being changed by others; try again.",
        )

    def _roll_back(self, principal: Principal, kind: PolicyKind[Any, Any]) -> StoredPolicy:
        control = trust_view_for(self.ledger, principal).control
        scope = _scope(principal)
        turn = policies_in_turn(self.ledger.trust_changes(scope, about_policy(kind.name)))
        in_force = control.policies.get(kind.name)
        own = scope is None or kind.name in control.own_policies
        if not own or not turn or turn[-1] != in_force:
            raise _no_earlier()
        if len(turn) > 1:
            ref = turn[-2]
            envelope = self._stored(ref.digest)
            self._usable(kind, ref, envelope, control)
            return self._put(principal, ref, envelope, TrustAction.ROLLED_BACK, control)
        if scope is None:
            raise _no_earlier()
        self.ledger.drop_policy_ref(
            scope,
            kind.name,
            expected=turn[-1],
            change=TrustChange(
                about_policy(kind.name),
                TrustAction.ROLLED_BACK,
                self.clock.now(),
                principal.subject,
            ),
        )
        return self.show(principal, kind.name)

    def show(self, principal: Principal, name: str) -> StoredPolicy:
        """The one in force for the caller's tenant. Raises Forbidden(scope-missing),
        NotFound(policy-not-found)."""
        require(principal, Scope.GOVERN, Scope.AUDIT)
        self._kind(name)
        control = trust_view_for(self.ledger, principal).control
        ref = control.policies.get(name)
        if ref is None:
            raise _no_such_policy()
        return StoredPolicy(
            ref,
            self.policies.get(ref),
            own=name in control.own_policies,
            since=control.policies_since.get(name),
        )

    def history(self, principal: Principal, name: str) -> Sequence[TrustChange]:
        """Newest first, of the caller's tenant; of the service's default for the operators. Raises
        Forbidden(scope-missing), NotFound(policy-not-found)."""
        require(principal, Scope.GOVERN, Scope.AUDIT)
        self._kind(name)
        trust_view_for(self.ledger, principal)
        changes = self.ledger.trust_changes(_scope(principal), about_policy(name))
        return tuple(reversed(changes))

    def _kind(self, name: str) -> PolicyKind[Any, Any]:
        kind = self.kinds.get(name)
        if kind is None:
            raise _no_such_policy()
        return kind

    def _stored(self, digest: str) -> Envelope:
        found = self.policies.find(digest)
        if found is None:
            raise _no_such_policy()
        return found

    def _usable(
        self, kind: PolicyKind[Any, Any], ref: PolicyRef, envelope: Envelope, control: Control
    ) -> None:
        """What would be refused at the next read is refused now."""
        try:
            key = signing_key(ref, envelope, control)
            check_window(ref, key, self.clock.now())
            open_policy(kind, ref, envelope, key, self.verifier)
        except Unavailable as error:
            raise Conflict(error.detail, code="policy-unusable") from None

    def _put(
        self,
        principal: Principal,
        ref: PolicyRef,
        envelope: Envelope,
        action: TrustAction,
        control: Control,
    ) -> StoredPolicy:
        scope = _scope(principal)
        own = scope is not None
        mine = not own or ref.name in control.own_policies
        if action is TrustAction.ACTIVATED and mine and control.policies.get(ref.name) == ref:
            return StoredPolicy(ref, envelope, own, control.policies_since.get(ref.name))
        now = self.clock.now()
        change = TrustChange(about_policy(ref.name), action, now, principal.subject, policy=ref)
        expected = control.policies.get(ref.name) if action is TrustAction.ROLLED_BACK else None
        self.ledger.put_policy_ref(scope, ref, change=change, expected=expected)
        return StoredPolicy(ref, envelope, own, now)


def _scope(principal: Principal) -> str | None:
    """None: the service's default."""
    return None if principal.tenant == PUBLIC_TENANT else principal.tenant


def _no_such_policy() -> NotFound:
    return NotFound("There is no such policy.", code="policy-not-found")


def _no_earlier() -> Conflict:
    return Conflict("There is no earlier policy to go back to.", code="no-earlier-policy")
