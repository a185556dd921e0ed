"""The signed policies that are in force, verified before they are used.

A reference names a policy by the SHA-256 of its signed envelope. What is remembered in a container
is the policy's value and that a key's signature over it was good; which policy is in force and how
its key stands is read with every search. No policy means no answer: there is no built-in default.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from custody.application.governance.kinds.gate import GATE
from custody.application.governance.kinds.reputation import REPUTATION
from custody.application.governance.policy_kind import PolicyKind
from custody.application.ports import PolicyStore, Verifier
from custody.domain.model import Control, Envelope, KeyState, PolicyRef, VerificationKey
from custody.domain.provenance import dsse
from custody.domain.ranking.gate_policy import GatePolicy
from custody.domain.ranking.reputation import ReputationPolicy
from custody.errors import IntegrityError, Unavailable

POLICY_PAYLOAD_TYPE = "application/vnd.custody.policy+json"
POLICY_PURPOSE = "policy"


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


def check_window(ref: PolicyRef, key: VerificationKey, put_in_force: datetime) -> None:
    """Raises Unavailable(policy-unavailable) unless the key was valid when the policy came into
    force. A policy says nothing of when it was signed; what counts is who vouched for it then."""
    if put_in_force < key.not_before or (
        key.not_after is not None and put_in_force >= key.not_after
    ):
        raise _unusable(ref, "its key was not valid when it came into force")


def open_policy[Value](
    kind: PolicyKind[Any, Value],
    ref: PolicyRef,
    envelope: Envelope,
    key: VerificationKey,
    verifier: Verifier,
) -> Value:
    """Raises Unavailable(policy-unavailable) unless the envelope is the one that ``ref`` names,
    signed with ``key``, and holds that version of a policy of this kind."""
    if policy_digest(envelope) != ref.digest or envelope.payload_type != POLICY_PAYLOAD_TYPE:
        raise _unusable(ref, "what is stored is not what its digest names")
    if not verifier.verify(envelope, key):
        raise _unusable(ref, "its signature does not verify")
    try:
        policy = kind.read(envelope.payload)
    except IntegrityError as error:
        raise _unusable(ref, error.detail) from error
    if policy.version != ref.version:
        raise _unusable(ref, "it is another version")
    return policy.value


class ActivePolicies:
    """Safe to share between threads. Every method raises Unavailable(policy-unavailable)."""

    def __init__(self, policies: PolicyStore, verifier: Verifier, *, kept: int = 64) -> None:
        self._fetch: Callable[[PolicyRef], Envelope] = lru_cache(maxsize=kept)(policies.get)

        @lru_cache(maxsize=kept)
        def opened(
            kind: PolicyKind[Any, Any], ref: PolicyRef, envelope: Envelope, key: VerificationKey
        ) -> object:
            return open_policy(kind, ref, envelope, key, verifier)

        self._open = opened

    def in_force[Value](
        self, kind: PolicyKind[Any, Value], control: Control
    ) -> tuple[PolicyRef, Value]:
        """The policy of this kind that the control item names, and its reference."""
        ref = control.policies.get(kind.name)
        if ref is None or ref.name != kind.name:
            raise Unavailable(f"No {kind.name} policy is in force.", code="policy-unavailable")
        envelope = self._fetch(ref)
        key = signing_key(ref, envelope, control)
        since = control.policies_since.get(kind.name)
        if since is not None:
            check_window(ref, key, since)
        value = self._open(kind, ref, envelope, key)
        return ref, cast("Value", value)

    # what a reading asks

    def reputation(
        self, control: Control, ranker: str = "rrf"
    ) -> tuple[PolicyRef, ReputationPolicy]:
        """``ranker``: whose scores are to be normalised. One without bounds in the policy is
        refused: another's would mean nothing."""
        ref, by_ranker = self.in_force(REPUTATION, control)
        policy = by_ranker.get(ranker)
        if policy is None:
            raise _unusable(ref, f"it has no bounds for the ranker {ranker}")
        return ref, policy

    def gate(self, control: Control) -> tuple[PolicyRef, GatePolicy]:
        return self.in_force(GATE, control)


def _unusable(ref: PolicyRef, why: str) -> Unavailable:
    return Unavailable(
        f"The {ref.name} policy {ref.version} can't be used: {why}.", code="policy-unavailable"
    )
