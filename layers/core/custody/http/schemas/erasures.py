"""An erasure that is asked for, and its receipt."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from custody.application.erasure.request import MAX_REASON_CHARACTERS, ErasureRequest
from custody.domain.ledger.erasures import Artifact, Erasure
from custody.http.schemas.common import Schema, Timestamp


class ErasureBody(Schema):
    reason: Annotated[str, StringConstraints(min_length=1, max_length=MAX_REASON_CHARACTERS)]


class ErasureAcceptedReply(Schema):
    erasure_id: str


class ErasedArtifactReply(Schema):
    location: str
    level: str
    verified_at: Timestamp | None
    detail: str | None


class ErasureReply(Schema):
    erasure_id: str
    state: str
    document_id: str
    through_version: int
    reason: str
    requested_by: str
    requested_at: Timestamp
    completed_at: Timestamp | None
    artifacts: list[ErasedArtifactReply]


def erasure_request(document_id: str, body: ErasureBody, if_match: int | None) -> ErasureRequest:
    return ErasureRequest(document_id, body.reason, if_match)


def erasure_accepted_reply(erasure: Erasure) -> ErasureAcceptedReply:
    return ErasureAcceptedReply(erasure_id=erasure.erasure_id)


def erasure_reply(erasure: Erasure) -> ErasureReply:
    return ErasureReply(
        erasure_id=erasure.erasure_id,
        state=erasure.state.value,
        document_id=erasure.key.document_id,
        through_version=erasure.through_version,
        reason=erasure.reason,
        requested_by=erasure.requested_by,
        requested_at=erasure.requested_at,
        completed_at=erasure.completed_at,
        artifacts=[_artifact(artifact) for artifact in erasure.artifacts],
    )


def _artifact(artifact: Artifact) -> ErasedArtifactReply:
    return ErasedArtifactReply(
        location=artifact.location,
        level=artifact.level.value,
        verified_at=artifact.verified_at,
        detail=artifact.detail,
    )
