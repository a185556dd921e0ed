"""The signed statement of a document's version."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from custody.application.reading.documents import Provenance
from custody.domain.provenance import dsse
from custody.http.schemas.common import Schema


class ProvenanceQuery(Schema):
    version: Annotated[int, Field(ge=1)] | None = None


class DsseSignatureReply(Schema):
    keyid: str
    sig: str


class DsseEnvelopeReply(Schema):
    payloadType: str  # noqa: N815  # the names of DSSE
    payload: str
    signatures: list[DsseSignatureReply]


class DocumentProvenanceReply(Schema):
    """``log``: the inclusion proof in the transparency log; null until there is one."""

    tenant: str
    document_id: str
    version: int
    state: str
    envelope: DsseEnvelopeReply
    log: None


def provenance_reply(found: Provenance) -> DocumentProvenanceReply:
    return DocumentProvenanceReply(
        tenant=found.tenant,
        document_id=found.document_id,
        version=found.version,
        state=found.state.value,
        envelope=DsseEnvelopeReply.model_validate_json(dsse.encode(found.envelope)),
        log=None,
    )
