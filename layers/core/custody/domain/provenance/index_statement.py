"""What the index key signs: an in-toto Statement v1 about one index, as it was verified.

Vectors are in no evidence statement, so a new model signs nothing anew; this one says of which
versions, with which model, mapping and analysis an index was made. The subject is the index; its
digest, ``lthash16``, is that of the corpus (``domain/provenance/snapshot``). Its parts:

``tenant space build`` whose index it is and which build made it; ``model mapping analysis`` how;
``corpus`` how many documents, versions and chunks were verified, from when on they were read;
``signedAt`` RFC 3339.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from custody.domain.provenance.canonical import canonical_json, parse_json
from custody.domain.provenance.statement import STATEMENT_TYPE
from custody.domain.timestamps import format_rfc3339, parse_rfc3339
from custody.errors import IntegrityError

PREDICATE_TYPE = "urn:custody:index:v1"


@dataclass(frozen=True, slots=True)
class IndexStatement:
    """``index``: the index's own name. ``space``: which of the tenant's, such as "live". ``digest``
    covers ``versions`` versions, that were read from ``read_from`` on."""

    index: str
    tenant: str
    space: str
    build_id: str
    model_revision: str
    mapping_version: str
    analysis_version: str
    digest: str
    versions: int
    chunks: int
    read_from: datetime
    signed_at: datetime


def build(stated: IndexStatement) -> bytes:
    """The payload to sign, in canonical JSON."""
    return canonical_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": stated.index, "digest": {"lthash16": stated.digest}}],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "tenant": stated.tenant,
                "space": stated.space,
                "build": stated.build_id,
                "model": stated.model_revision,
                "mapping": stated.mapping_version,
                "analysis": stated.analysis_version,
                "corpus": {
                    "versions": stated.versions,
                    "chunks": stated.chunks,
                    "readFrom": format_rfc3339(stated.read_from),
                },
                "signedAt": format_rfc3339(stated.signed_at),
            },
        }
    )


def parse(payload: bytes) -> IndexStatement:
    """Raises IntegrityError(malformed-statement) for anything but what ``build`` writes."""
    try:
        outer = parse_json(payload)
        if not isinstance(outer, dict):
            raise ValueError("an object is expected")
        (subject,) = outer["subject"]
        predicate = outer["predicate"]
        corpus = predicate["corpus"]
        stated = IndexStatement(
            index=subject["name"],
            tenant=predicate["tenant"],
            space=predicate["space"],
            build_id=predicate["build"],
            model_revision=predicate["model"],
            mapping_version=predicate["mapping"],
            analysis_version=predicate["analysis"],
            digest=subject["digest"]["lthash16"],
            versions=corpus["versions"],
            chunks=corpus["chunks"],
            read_from=parse_rfc3339(corpus["readFrom"]),
            signed_at=parse_rfc3339(predicate["signedAt"]),
        )
        written = build(stated)
    except (KeyError, TypeError, ValueError, AttributeError, IntegrityError) as error:
        raise IntegrityError("No statement of an index.", code="malformed-statement") from error
    if written != payload:
        raise IntegrityError("No statement of an index.", code="malformed-statement")
    return stated
