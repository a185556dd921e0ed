"""The signed policies that are in force, verified before they are used.

A reference names a policy by the SHA-256 of its signed envelope. What is remembered in a container
is the parsed policy and that a key's signature over it was good; which policy is in force and how
its key stands is read with every search. No policy means no answer: there is no built-in default.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from custody.application.governance.policy_documents import (
    POLICY_PAYLOAD_TYPE,
    POLICY_PURPOSE,
    PolicyDocument,
    ReputationDocument,
    read_policy,
)
from custody.application.ports import PolicyStore, Verifier
from custody.domain.model import Control, Envelope, KeyState, PolicyRef, VerificationKey
from custody.domain.provenance import dsse
from custody.domain.ranking.gate_policy import GatePolicy
from custody.domain.ranking.reputation import ReputationPolicy
from custody.errors import IntegrityError, Unavailable


def policy_digest(envelope: Envelope) -> str:
    """Hex SHA-256 of the envelope in canonical JSON: of the policy and of who signed it."""
    return hashlib.sha256(dsse.encode(envelope)).hexdigest()


def signing_key(ref: PolicyRef, envelope: Envelope, control: Control) -> VerificationKey:
    """The active policy key that the envelope names. Raises Unavailable(policy-unavailable)."""
    key = control.keys.get(envelope.keyid)
    if key is None or key.purpose != POLICY_PURPOSE:
        raise _unusable(ref, "no known policy key signed it")
    if key.state is not KeyState.ACTIVE:
        raise _unusable(ref, f"its key is {key.state.value.lower()}")
    return key


def open_policy(
    ref: PolicyRef, envelope: Envelope, key: VerificationKey, verifier: Verifier
) -> PolicyDocument:
    """Raises Unavailable(policy-unavailable) unless the envelope is the one that ``ref`` names,
    signed with ``key``, and holds that version of that policy."""
    if policy_digest(envelope) != ref.digest or envelope.payload_type != POLICY_PAYLOAD_TYPE:
        raise _unusable(ref, "what is stored is not what its digest names")
    if not verifier.verify(envelope, key):
        raise _unusable(ref, "its signature does not verify")
    try:
        document = read_policy(ref.name, envelope.payload)
    except IntegrityError as error:
        raise _unusable(ref, error.detail) from error
    if document.version != ref.version:
        raise _unusable(ref, "it is another version")
    return document


@dataclass(frozen=True, slots=True)
class _Loaded:
    by_ranker: Mapping[str, ReputationPolicy] = field(default_factory=dict)
    gate: GatePolicy | None = None


class ActivePolicies:
    """Safe to share between threads. Every method raises Unavailable(policy-unavailable)."""

    def __init__(self, policies: PolicyStore, verifier: Verifier, *, kept: int = 64) -> None:
        self._fetch: Callable[[PolicyRef], Envelope] = lru_cache(maxsize=kept)(policies.get)
        self._open: Callable[[PolicyRef, Envelope, VerificationKey], _Loaded] = lru_cache(
            maxsize=kept
        )(_opening(verifier))

    def reputation(
        self, control: Control, ranker: str = "rrf"
    ) -> tuple[PolicyRef, ReputationPolicy]:
        """``ranker``: whose scores are to be normalised. One without bounds in the policy is
        refused: another's would mean nothing."""
        ref, loaded = self._active("reputation", control)
        policy = loaded.by_ranker.get(ranker)
        if policy is None:
            raise _unusable(ref, f"it has no bounds for the ranker {ranker}")
        return ref, policy

    def gate(self, control: Control) -> tuple[PolicyRef, GatePolicy]:
        ref, loaded = self._active("gate", control)
        if loaded.gate is None:
            raise _unusable(ref, "it is another kind of policy")
        return ref, loaded.gate

    def _active(self, name: str, control: Control) -> tuple[PolicyRef, _Loaded]:
        ref = control.policies.get(name)
        if ref is None or ref.name != name:
            raise Unavailable(f"No {name} policy is in force.", code="policy-unavailable")
        envelope = self._fetch(ref)
        return ref, self._open(ref, envelope, signing_key(ref, envelope, control))


def _opening(
    verifier: Verifier,
) -> Callable[[PolicyRef, Envelope, VerificationKey], _Loaded]:
    def load(ref: PolicyRef, envelope: Envelope, key: VerificationKey) -> _Loaded:
        document = open_policy(ref, envelope, key, verifier)
        if isinstance(document, ReputationDocument):
            return _Loaded(by_ranker=document.policies())
        return _Loaded(gate=document.policy())

    return load


def _unusable(ref: PolicyRef, why: str) -> Unavailable:
    return Unavailable(
        f"The {ref.name} policy {ref.version} can't be used: {why}.", code="policy-unavailable"
    )
