"""Canonical JSON (RFC 8785), and reading what was signed.

Two writers, one form: ``canonical_json`` takes any JSON value, ``leaf_bytes`` takes one chunk and
is fast, for it runs for every candidate of every search. A property test holds them equal.
"""

from __future__ import annotations

import hashlib
from json.encoder import encode_basestring  # the C encoder where there is one

import rfc8785

from custody.domain import strict_json
from custody.domain.model import Chunk
from custody.errors import IntegrityError

SAFE_INTEGER = 2**53 - 1  # JSON numbers are IEEE 754 doubles (RFC 8785, section 3.2.2.3)


def canonical_json(value: object) -> bytes:
    """RFC 8785 bytes of a JSON value. Raises IntegrityError(not-canonical) for what has no
    canonical form: NaN, infinities, integers beyond 2**53 - 1, lone surrogates, other types."""
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]  # any object: it checks each itself
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"No canonical JSON: {error}.", code="not-canonical") from None


def digest(value: object) -> str:
    """Hex SHA-256 of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def leaf_bytes(chunk: Chunk) -> bytes:
    """Canonical JSON of all that is served of a chunk: document, version, ordinal, title,
    heading, page, text. Raises IntegrityError(not-canonical) as ``canonical_json`` does."""
    return leaf_of(
        chunk.document_id,
        chunk.version,
        chunk.ordinal,
        chunk.title,
        chunk.heading,
        chunk.page,
        chunk.text,
    )


def leaf_of(
    document_id: str,
    version: int,
    ordinal: int,
    title: str | None,
    heading: str | None,
    page: int | None,
    text: str,
) -> bytes:
    """``leaf_bytes`` of a chunk that need not be made first."""
    if not (
        -SAFE_INTEGER <= version <= SAFE_INTEGER
        and -SAFE_INTEGER <= ordinal <= SAFE_INTEGER
        and (page is None or -SAFE_INTEGER <= page <= SAFE_INTEGER)
    ):
        raise IntegrityError("No canonical JSON: an integer is too large.", code="not-canonical")
    encode = encode_basestring
    try:
        return (
            f'{{"document":{encode(document_id)},'
            f'"heading":{"null" if heading is None else encode(heading)},'
            f'"ordinal":{ordinal:d},"page":{"null" if page is None else format(page, "d")},'
            f'"text":{encode(text)},"title":{"null" if title is None else encode(title)},'
            f'"version":{version:d}}}'
        ).encode()
    except UnicodeEncodeError:
        raise IntegrityError(
            "No canonical JSON: a lone surrogate is no character.", code="not-canonical"
        ) from None


def parse_json(data: bytes | str) -> object:
    """A JSON value, read strictly (``strict_json.read``). Raises IntegrityError(malformed-json)."""
    try:
        return strict_json.read(data)
    except strict_json.NotStrict as error:
        raise IntegrityError(f"Not strict JSON: {error}.", code="malformed-json") from None
