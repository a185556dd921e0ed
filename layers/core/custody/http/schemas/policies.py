"""Policies: signed, in force, and what was in force before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import StringConstraints

from custody.application.governance.policy_registry import StoredPolicy
from custody.domain.ledger.trust_changes import TrustChange
from custody.domain.provenance import dsse
from custody.http.schemas.common import Schema, Timestamp
from custody.http.schemas.provenance import DsseEnvelopeReply


class PolicyBody(Schema):
    """``document``: as the policy's JSON Schema in policies/ has it."""

    document: dict[str, Any]


class ActivationBody(Schema):
    """``digest``: of a signed version, as the reply to its signing named it."""

    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class PolicyReply(Schema):
    """``scope``: tenant for one of the tenant's own, service for the default. ``since`` null: it is
    not in force by this reply, or nobody told since when."""

    name: str
    version: str
    digest: str
    scope: str
    keyid: str
    since: Timestamp | None
    document: dict[str, Any]
    envelope: DsseEnvelopeReply


class PolicyChangeReply(Schema):
    """``version`` and ``digest`` null: the tenant went by the service's default again."""

    action: str
    version: str | None
    digest: str | None
    at: Timestamp
    by: str | None


class PolicyHistoryReply(Schema):
    """Newest first."""

    name: str
    changes: list[PolicyChangeReply]


def policy_reply(policy: StoredPolicy) -> PolicyReply:
    return PolicyReply(
        name=policy.ref.name,
        version=policy.ref.version,
        digest=policy.ref.digest,
        scope="tenant" if policy.own else "service",
        keyid=policy.envelope.keyid,
        since=policy.since,
        document=policy.document,
        envelope=DsseEnvelopeReply.model_validate_json(dsse.encode(policy.envelope)),
    )


def policy_history_reply(name: str, changes: Sequence[TrustChange]) -> PolicyHistoryReply:
    return PolicyHistoryReply(
        name=name,
        changes=[
            PolicyChangeReply(
                action=change.action.value,
                version=change.policy.version if change.policy else None,
                digest=change.policy.digest if change.policy else None,
                at=change.at,
                by=change.by,
            )
            for change in changes
        ],
    )
