"""Names of things: which are allowed, and how the derived ones are made."""

from __future__ import annotations

import base64
import hashlib
import re

from custody.domain.provenance.canonical import canonical_json

TENANT_PATTERN = r"[a-z0-9][a-z0-9-]{1,39}"
SOURCE_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
DOCUMENT_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"

_TENANT = re.compile(TENANT_PATTERN)
_SOURCE = re.compile(SOURCE_PATTERN)
_DOCUMENT = re.compile(DOCUMENT_PATTERN)
_DROP_CHARACTERS = 26  # 130 bits of the path's digest


def valid_tenant(text: str) -> bool:
    return _TENANT.fullmatch(text) is not None


def valid_source_id(text: str) -> bool:
    """No colon, so that ``<source_id>:<hash>`` of a drop names one source; no slash, so that a
    key's prefix does."""
    return _SOURCE.fullmatch(text) is not None


def valid_document_id(text: str) -> bool:
    return _DOCUMENT.fullmatch(text) is not None


def _base32(digest: bytes) -> str:
    return base64.b32encode(digest).decode("ascii").rstrip("=").lower()


def chunk_id(tenant: str, source_id: str, document_id: str, version: int, ordinal: int) -> str:
    """52 lower-case base32 characters of the SHA-256 of the canonical JSON of these five.

    Never of the content: A -> B -> A and twin documents would share ids, and a late clean-up
    would delete live chunks.
    """
    identity = canonical_json([tenant, source_id, document_id, version, ordinal])
    return _base32(hashlib.sha256(identity).digest())


def drop_document_id(source_id: str, path: str) -> str:
    """The document that an object under ``incoming/<tenant>/<source_id>/`` is. Raises ValueError
    (UnicodeEncodeError) for a path that is no text."""
    return f"{source_id}:{_base32(hashlib.sha256(path.encode()).digest())[:_DROP_CHARACTERS]}"


def document_hash(document_id: str) -> str:
    """The folder of one document in object keys: 32 hex characters, whatever the id holds."""
    return hashlib.sha256(document_id.encode()).hexdigest()[:32]
