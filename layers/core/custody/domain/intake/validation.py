"""Rules for everything that a caller may name or attach. Each function returns the clean value.

All raise ``Unprocessable`` with the field at fault; nothing is trimmed, guessed or cut.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime

from custody.domain.model import EVERYONE, Acl, MetadataValue
from custody.domain.provenance.identifiers import (
    SOURCE_PATTERN,
    valid_document_id,
    valid_source_id,
)
from custody.errors import Unprocessable

MAX_ACL_TERMS = 200
MAX_TERM_CHARACTERS = 256
MAX_TITLE_CHARACTERS = 1_000
MAX_METADATA_BYTES = 16 * 1024
MAX_METADATA_NAME_CHARACTERS = 128
DECIDED_ELSEWHERE = frozenset(
    {"tenant", "source_id", "source_ids", "trust_domain", "trust_domains", "acl", "as_of"}
)
ANY_REVISION = -1
MAX_PATH_BYTES = 800  # an S3 key holds 1,024 bytes, the prefixes and a suffix included

_DROP_ID = re.compile(rf"(?P<source>{SOURCE_PATTERN}):[a-z2-7]{{26}}")
_CONTENT_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,64}/[a-z0-9!#$&^_.+-]{1,64}")
_EXACT_INTEGER = 2**53


def document_id(text: str, *, source_id: str) -> str:
    """A drop's id (``<source_id>:<26 base32 characters>``) may be used by its own source only,
    or another writer could occupy the id of a file before it is dropped."""
    if not valid_document_id(text):
        raise Unprocessable(
            "A document id is 1 to 128 of A-Z a-z 0-9 . _ : - and starts with a letter or digit.",
            field="document_id",
        )
    drop = _DROP_ID.fullmatch(text)
    if drop is not None and drop["source"] != source_id:
        raise Unprocessable(
            "This id is kept for a file dropped under another source.",
            code="reserved-document-id",
            field="document_id",
        )
    return text


def source_id(text: str, *, field: str = "source_id") -> str:
    if not valid_source_id(text):
        raise Unprocessable(
            "A source id is 1 to 64 of A-Z a-z 0-9 . _ - and starts with a letter or digit.",
            field=field,
        )
    return text


def content_type(text: str) -> str:
    """``type/subtype`` in lower case; parameters (charset, …) are dropped: bytes decide."""
    bare = text.split(";", 1)[0].strip().lower()
    if _CONTENT_TYPE.fullmatch(bare) is None:
        raise Unprocessable(
            "A content type is type/subtype, such as text/markdown.", field="content_type"
        )
    return bare


def printable(text: str, *, field: str, limit: int) -> str:
    """1 to ``limit`` characters, no control character, no white space at the ends."""
    if not text or len(text) > limit:
        raise Unprocessable(f"This has 1 to {limit:,} characters.", field=field)
    if text != text.strip():
        raise Unprocessable("White space at the start or the end is not allowed.", field=field)
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in text):
        raise Unprocessable("Control characters are not allowed.", field=field)
    return text


def title(text: str | None) -> str | None:
    """White space is one space each and none at the ends: titles come out of catalogues with line
    breaks and padding, which mean nothing. Otherwise as ``printable``."""
    if text is None:
        return None
    return printable(" ".join(text.split()), field="title", limit=MAX_TITLE_CHARACTERS)


def term(text: str, *, tenant: str, field: str) -> str:
    """``everyone``, ``user:<sub>``, ``group:<name>`` or ``tenant:<the caller's own tenant>``."""
    if text == EVERYONE:
        return text
    kind, separator, name = text.partition(":")
    if not separator or kind not in {"user", "group", "tenant"}:
        raise Unprocessable(
            "A term is everyone, user:<sub>, group:<name> or tenant:<tenant>.", field=field
        )
    printable(name, field=field, limit=MAX_TERM_CHARACTERS)
    if kind == "tenant" and name != tenant:
        raise Unprocessable("Only the caller's own tenant can be named here.", field=field)
    return text


def terms(texts: Iterable[str], *, tenant: str, field: str) -> tuple[str, ...]:
    """1 to 200 terms, sorted and unique."""
    given = tuple(texts)
    if not given:
        raise Unprocessable("At least one term is needed.", field=field)
    if len(given) > MAX_ACL_TERMS:
        raise Unprocessable(f"At most {MAX_ACL_TERMS} terms are allowed.", field=field)
    return tuple(sorted({term(text, tenant=tenant, field=field) for text in given}))


def acl(texts: Iterable[str], *, tenant: str, field: str) -> Acl:
    return Acl(terms(texts, tenant=tenant, field=field))


def validity(start: datetime | None, end: datetime | None) -> None:
    """Half-open: what ends when it starts is never valid."""
    if start is not None and end is not None and start >= end:
        raise Unprocessable("valid_from must be before valid_to.", field="valid_to")


def _metadata_value(name: str, value: object) -> MetadataValue:
    field = f"metadata.{name}"
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if abs(value) >= _EXACT_INTEGER:
            raise Unprocessable("An integer here is smaller than 2^53.", field=field)
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unprocessable("A number here is finite.", field=field)
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(str(item) for item in value)
    raise Unprocessable("A value is a string, number, boolean or list of strings.", field=field)


def filter_name(name: str) -> str:
    """A metadata field that a search may ask for: a name that metadata can have. What a source or
    the ledger decides is no metadata, and a document must not answer for it by its own word. Raises
    Unprocessable(unknown-field)."""
    field = f"filter.{name[:MAX_METADATA_NAME_CHARACTERS]}"
    if name in DECIDED_ELSEWHERE:
        raise Unprocessable(
            "This is no metadata field; source_ids and trust_domains are fields of the request.",
            code="unknown-field",
            field=field,
        )
    try:
        return printable(name, field=field, limit=MAX_METADATA_NAME_CHARACTERS)
    except Unprocessable:
        raise Unprocessable(
            "No metadata field can have this name.", code="unknown-field", field=field
        ) from None


def still_is(if_match: int | None, revision: int) -> bool:
    """Does the revision that a caller names still stand? None names none; ``ANY_REVISION`` asks
    that there be one at all (a revision of 0 is something that does not exist)."""
    if if_match is None:
        return True
    return revision > 0 if if_match == ANY_REVISION else if_match == revision


def metadata(given: Mapping[str, object]) -> dict[str, MetadataValue]:
    """At most 16 KB as compact JSON in UTF-8; lists come back as tuples."""
    clean: dict[str, MetadataValue] = {}
    for name, value in given.items():
        printable(name, field="metadata", limit=MAX_METADATA_NAME_CHARACTERS)
        clean[name] = _metadata_value(name, value)
    try:
        size = len(json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
    except UnicodeEncodeError:
        raise Unprocessable("A value is not valid Unicode.", field="metadata") from None
    if size > MAX_METADATA_BYTES:
        raise Unprocessable(
            f"Metadata is larger than {MAX_METADATA_BYTES:,} bytes.", field="metadata"
        )
    return clean


def is_path(path: str) -> bool:
    """A drop's path below its source: segments that are neither empty, ``.`` nor ``..``."""
    if not path or len(path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return False
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in path):
        return False
    return all(segment not in {"", ".", ".."} for segment in path.split("/"))
