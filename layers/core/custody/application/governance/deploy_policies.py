"""What a deployment does once: register the keys, sign the packaged policies, put them in force.

Run again, it changes nothing that is as it should be: a registered key keeps its window and its
state (a revoked one stays revoked), and a policy is signed again only where none is in force,
an older one is, or the one in force can't be verified any more. A newer one is never replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from custody.application.governance.active_policies import open_policy, policy_digest, signing_key
from custody.application.governance.policy_documents import (
    POLICY_PAYLOAD_TYPE,
    read_policy,
    version_order,
)
from custody.application.ports import PolicyStore, Signer, TrustLedger, Verifier
from custody.domain.model import Control, PolicyRef, VerificationKey
from custody.domain.provenance.canonical import canonical_json, parse_json
from custody.errors import Unavailable

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
class DeployPolicies:
    """``packaged``: name -> the JSON of a policy. Raises Unavailable (of ledger, signer or store)
    and IntegrityError(invalid-policy), before anything of that policy is written."""

    ledger: TrustLedger
    policies: PolicyStore
    ingestion: Signer
    policy: Signer
    verifier: Verifier
    packaged: Mapping[str, bytes]

    def __call__(self) -> Deployed:
        documents = {name: read_policy(name, payload) for name, payload in self.packaged.items()}
        keys = (self.ingestion.verification_key(), self.policy.verification_key())
        registered = tuple(key.keyid for key in keys if self._register(key))
        control = self.ledger.control(_SERVICE)
        in_force: list[PolicyRef] = []
        signed: list[str] = []
        for name, document in documents.items():
            payload = canonical_json(parse_json(self.packaged[name]))
            ref = control.policies.get(name)
            if ref is None or not self._stands(ref, document.version, payload, control):
                ref = self._put_in_force(name, document.version, payload)
                signed.append(name)
            in_force.append(ref)
        return Deployed(
            keyids=tuple(key.keyid for key in keys),
            registered=registered,
            policies=tuple(in_force),
            signed=tuple(signed),
        )

    def _register(self, key: VerificationKey) -> bool:
        try:
            known = self.ledger.control(_SERVICE).keys
        except Unavailable as error:
            if error.code != "policy-unavailable":
                raise
            known = {}  # the first deployment: there is no control item yet
        if key.keyid in known:
            return False
        self.ledger.put_key(replace(key, not_before=key.not_before - _CLOCK_SKEW))
        return True

    def _stands(
        self, ref: PolicyRef, packaged_version: str, payload: bytes, control: Control
    ) -> bool:
        active, packaged = version_order(ref.version), version_order(packaged_version)
        if active is None or packaged is None or active > packaged:
            return True
        if active < packaged:
            return False
        try:
            envelope = self.policies.get(ref)
            open_policy(ref, envelope, signing_key(ref, envelope, control), self.verifier)
        except Unavailable:
            return False  # signed anew below; a store that is down fails there too
        return envelope.payload == payload

    def _put_in_force(self, name: str, version: str, payload: bytes) -> PolicyRef:
        envelope = self.policy.sign(POLICY_PAYLOAD_TYPE, payload)
        ref = PolicyRef(name, version, policy_digest(envelope))
        self.policies.put(ref, envelope)
        self.ledger.put_policy_ref(None, ref)
        return ref
