"""What a deployment does once: mark the layout of the tables, register the keys, make the secret of
page cursors, sign the packaged policies, put them in force.

Run again, it changes nothing that is as it should be: a registered key keeps its window and its
state (a revoked one stays revoked), and a packaged policy is put in force again only where its
digest is another one than that of the last deployment, or where what is in force can't be verified
any more. What a governor put in force since stays until then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from custody.application.governance.active_policies import (
    POLICY_PAYLOAD_TYPE,
    open_policy,
    policy_digest,
    signing_key,
)
from custody.application.governance.kinds import KINDS, PolicyKinds
from custody.application.governance.policy_kind import PolicyKind
from custody.application.ports import (
    Clock,
    LayoutMarks,
    PolicyStore,
    Signer,
    TrustLedger,
    Verifier,
)
from custody.domain.ledger.trust_changes import TrustAction, TrustChange, about_policy
from custody.domain.model import Control, PolicyRef, VerificationKey
from custody.domain.provenance.canonical import canonical_json, parse_json
from custody.errors import IntegrityError, NoControlItem, Unavailable

# No tenant's id has this form, so what "it" sees are the service's own keys and policies.
_SERVICE = "-"
# Functions' clocks differ a little; a statement signed just after deployment is inside the window.
_CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Deployed:
    """``registered``: ids of keys that were new. ``signed``: policies put in force by this run."""

    keyids: tuple[str, ...]
    registered: tuple[str, ...]
    policies: tuple[PolicyRef, ...]
    signed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Packaged:
    """``payload``: the policy in canonical JSON, as it would be signed."""

    kind: PolicyKind[Any, Any]
    version: str
    payload: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.payload).hexdigest()


class DeployLedger(TrustLedger, LayoutMarks, Protocol):
    """What a deployment asks of the ledger."""


@dataclass(frozen=True, slots=True)
class DeployPolicies:
    """``packaged``: name of a kind -> the JSON of its policy. Raises IntegrityError(invalid-policy)
    before anything is written, Unavailable(layout-outdated) before any key is registered, and
    Unavailable (of ledger, signer or store)."""

    ledger: DeployLedger
    policies: PolicyStore
    ingestion: Signer
    policy: Signer
    index: Signer
    verifier: Verifier
    packaged: Mapping[str, bytes]
    clock: Clock
    kinds: PolicyKinds = KINDS

    def __call__(self) -> Deployed:
        packaged = [self._packaged(name, text) for name, text in self.packaged.items()]
        self.ledger.mark_layout()
        signers = (self.ingestion, self.policy, self.index)
        keys = tuple(signer.verification_key() for signer in signers)
        registered = tuple(key.keyid for key in keys if self._register(key))
        self.ledger.make_page_secret()
        control = self.ledger.control(_SERVICE)
        known = self.ledger.packaged_policies()
        in_force: list[PolicyRef] = []
        signed: list[str] = []
        for policy in packaged:
            ref = control.policies.get(policy.kind.name)
            changed = known.get(policy.kind.name) != policy.digest
            if ref is None or changed or not self._is_good(ref, policy, control):
                ref = self._put_in_force(policy)
                signed.append(ref.name)
            in_force.append(ref)
        return Deployed(
            keyids=tuple(key.keyid for key in keys),
            registered=registered,
            policies=tuple(in_force),
            signed=tuple(signed),
        )

    def _register(self, key: VerificationKey) -> bool:
        try:
            known = key.keyid in self.ledger.control(_SERVICE).keys
        except NoControlItem:
            known = False  # the first deployment
        if known:
            return False
        self.ledger.put_key(replace(key, not_before=key.not_before - _CLOCK_SKEW))
        return True

    def _packaged(self, name: str, text: bytes) -> _Packaged:
        kind = self.kinds.get(name)
        if kind is None:
            raise IntegrityError(f"There is no policy named {name}.", code="invalid-policy")
        return _Packaged(kind, kind.read(text).version, canonical_json(parse_json(text)))

    def _is_good(self, ref: PolicyRef, packaged: _Packaged, control: Control) -> bool:
        try:
            envelope = self.policies.get(ref)
            key = signing_key(ref, envelope, control)
            open_policy(packaged.kind, ref, envelope, key, self.verifier)
        except Unavailable:
            return False  # signed anew below; a store that is down fails there too
        return True

    def _put_in_force(self, packaged: _Packaged) -> PolicyRef:
        envelope = self.policy.sign(POLICY_PAYLOAD_TYPE, packaged.payload)
        ref = PolicyRef(packaged.kind.name, packaged.version, policy_digest(envelope))
        self.policies.put(ref, envelope)
        change = TrustChange(
            about_policy(ref.name), TrustAction.PACKAGED, self.clock.now(), policy=ref
        )
        self.ledger.put_policy_ref(None, ref, change=change)
        self.ledger.put_packaged(ref.name, packaged.digest)
        return ref
