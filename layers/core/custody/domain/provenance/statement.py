"""What the ingestion key signs: an in-toto Statement v1 about one document version.

Source of the outer form: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md.
The predicate holds digests, identifiers, versions and times, never text. Its parts:

``tenant source connector document version`` the lineage; ``acl`` the SHA-256 of the canonical JSON
of the sorted terms, and its revision; ``mediaType parser chunker`` how the chunks were made;
``chunks`` the RFC 6962 root and count over the leaves of ``custody.domain.provenance.canonical.leaf_bytes``;
``observedAt validFrom validTo signedAt`` RFC 3339 or null; ``supersedes`` the version live before
it, or null; ``signals`` codes of the detectors.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import cast

from custody.domain.model import Acl, DocumentKey, Head, Source, SourceKey, VersionRecord
from custody.domain.provenance.canonical import canonical_json, digest, parse_json
from custody.domain.timestamps import format_rfc3339, parse_rfc3339
from custody.errors import IntegrityError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:custody:evidence:v1"

_PREDICATE = frozenset(
    {
        "acl",
        "chunker",
        "chunks",
        "connector",
        "document",
        "mediaType",
        "observedAt",
        "parser",
        "signals",
        "signedAt",
        "source",
        "supersedes",
        "tenant",
        "validFrom",
        "validTo",
        "version",
    }
)


@dataclass(frozen=True, slots=True)
class Statement:
    statement_id: str  # hex SHA-256 of the payload's bytes
    key: DocumentKey
    version: int
    content_sha256: str
    source_id: str
    connector: str
    acl_digest: str
    acl_revision: int
    media_type: str
    parser: str
    chunker: str
    chunk_root: str
    chunk_count: int
    observed_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    signed_at: datetime
    supersedes: int | None
    signals: tuple[str, ...]


@lru_cache(maxsize=4096)  # of each head of each search; an ACL is a value, so nothing goes stale
def acl_digest(acl: Acl) -> str:
    return digest(sorted(set(acl.allow)))


def statement_id(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def build(
    record: VersionRecord,
    source: Source,
    *,
    chunk_root: str,
    chunk_count: int,
    acl: Acl,
    acl_revision: int,
    signed_at: datetime,
    supersedes: int | None,
) -> bytes:
    """The payload to sign, in canonical JSON. Raises IntegrityError(statement-incomplete) where
    the record lacks what must be stated or names another source."""
    if source.key != SourceKey(record.key.tenant, record.source_id):
        raise IntegrityError("The record names another source.", code="statement-incomplete")
    if not record.parser or not record.chunker:
        raise IntegrityError("The record has not been parsed.", code="statement-incomplete")
    if chunk_count < 1:
        raise IntegrityError("A statement covers at least one chunk.", code="statement-incomplete")
    return canonical_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                {
                    "name": _subject(record.key, record.version),
                    "digest": {"sha256": record.content_sha256},
                }
            ],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "tenant": record.key.tenant,
                "source": record.source_id,
                "connector": record.connector,
                "document": record.key.document_id,
                "version": record.version,
                "acl": {"sha256": acl_digest(acl), "revision": acl_revision},
                "mediaType": record.content_type,
                "parser": record.parser,
                "chunker": record.chunker,
                "chunks": {"root": chunk_root, "count": chunk_count},
                "observedAt": _time(record.observed_at),
                "validFrom": _time(record.valid_from),
                "validTo": _time(record.valid_to),
                "signedAt": format_rfc3339(signed_at),
                "supersedes": supersedes,
                "signals": list(record.inspection.signals) if record.inspection else [],
            },
        }
    )


def parse(payload: bytes) -> Statement:
    """Read a payload strictly: exactly these fields, of these types, in canonical form. Raises
    IntegrityError(malformed-statement)."""
    try:
        value = parse_json(payload)
        if canonical_json(value) != payload:
            raise ValueError("the payload is not in canonical form")
        outer = _members(value, {"_type", "subject", "predicateType", "predicate"})
        if outer["_type"] != STATEMENT_TYPE or outer["predicateType"] != PREDICATE_TYPE:
            raise ValueError("an unknown type of statement or predicate")
        predicate = _members(outer["predicate"], _PREDICATE)
        acl = _members(predicate["acl"], {"sha256", "revision"})
        chunks = _members(predicate["chunks"], {"root", "count"})
        key = DocumentKey(_text(predicate["tenant"]), _text(predicate["document"]))
        version = _integer(predicate["version"], 1)
        supersedes = predicate["supersedes"]
        return Statement(
            statement_id=statement_id(payload),
            key=key,
            version=version,
            content_sha256=_subject_digest(outer["subject"], _subject(key, version)),
            source_id=_text(predicate["source"]),
            connector=_text(predicate["connector"]),
            acl_digest=_sha256(acl["sha256"]),
            acl_revision=_integer(acl["revision"], 0),
            media_type=_text(predicate["mediaType"]),
            parser=_text(predicate["parser"]),
            chunker=_text(predicate["chunker"]),
            chunk_root=_sha256(chunks["root"]),
            chunk_count=_integer(chunks["count"], 1),
            observed_at=_optional_time(predicate["observedAt"]),
            valid_from=_optional_time(predicate["validFrom"]),
            valid_to=_optional_time(predicate["validTo"]),
            signed_at=parse_rfc3339(_text(predicate["signedAt"])),
            supersedes=None if supersedes is None else _integer(supersedes, 1),
            signals=_texts(predicate["signals"]),
        )
    except ValueError as error:
        raise IntegrityError(f"No statement: {error}.", code="malformed-statement") from None
    except IntegrityError as error:
        raise IntegrityError(error.detail, code="malformed-statement") from None


def describes(statement: Statement, head: Head) -> bool:
    """True when the statement says of the live version exactly what the ledger says of it."""
    return (
        statement.statement_id == head.statement_id
        and statement.key == head.key
        and statement.source_id == head.source_id
        and statement.version == head.version
        and statement.content_sha256 == head.content_sha256
        and statement.acl_revision == head.acl_revision
        and statement.chunk_root == head.chunk_root
        and statement.chunk_count == head.chunk_count
        and statement.observed_at == head.observed_at
        and statement.valid_from == head.valid_from
        and statement.valid_to == head.valid_to
        and statement.acl_digest == acl_digest(head.acl)
    )


def _subject(key: DocumentKey, version: int) -> str:
    return f"{key.tenant}/{key.document_id}@{version}"


def _subject_digest(value: object, name: str) -> str:
    if not isinstance(value, list) or len(value) != 1:
        raise ValueError("one subject is expected")
    subject = _members(value[0], {"name", "digest"})
    if subject["name"] != name:
        raise ValueError("the subject is not the document version of the predicate")
    return _sha256(_members(subject["digest"], {"sha256"})["sha256"])


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_rfc3339(moment)


def _optional_time(value: object) -> datetime | None:
    return None if value is None else parse_rfc3339(_text(value))


def _members(value: object, names: set[str] | frozenset[str]) -> dict[str, object]:
    if not isinstance(value, dict) or value.keys() != names:
        raise ValueError(f"an object with exactly {', '.join(sorted(names))} is expected")
    return cast("dict[str, object]", value)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text is missing")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("a list of texts is expected")
    return tuple(_text(item) for item in value)


def _integer(value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"an integer of at least {least} is expected")
    return value


def _sha256(value: object) -> str:
    text = _text(value)
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise ValueError("a lower-case hexadecimal SHA-256 is expected")
    return text
