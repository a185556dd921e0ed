"""A drop's sidecar: ``<path>.metadata.json`` in the Bedrock knowledge-base form.

``{"metadataAttributes": {name: value}}`` where a value is plain, or
``{"value": {"type": "STRING", "stringValue": "…"}, "includeForEmbedding": false}``. The names
title, acl, valid_from and valid_to are Custody's; every other one is metadata. A file that speaks of
its own trust, or of when it was seen last, is refused whole: that is the source's and the ledger's
to say.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from custody.domain import strict_json
from custody.domain.intake import validation
from custody.domain.model import Acl, MetadataValue
from custody.domain.timestamps import parse_rfc3339
from custody.errors import BrokenSidecar, Unprocessable

SUFFIX = ".metadata.json"
MAX_BYTES = 128 * 1024

TRUST_CLAIMS = frozenset(
    {
        "trust", "trust_domain", "trust_score", "reputation", "source_id", "tenant", "writers",
        "max_acl", "default_acl", "connector", "statement", "statement_id", "signature", "keyid",
        "provenance", "verified", "mirror_deletes", "observed_at",
    }
)  # fmt: skip

_TYPED = {
    "STRING": "stringValue",
    "NUMBER": "numberValue",
    "BOOLEAN": "booleanValue",
    "STRING_LIST": "stringListValue",
}


@dataclass(frozen=True, slots=True)
class Sidecar:
    title: str | None = None
    acl: Acl | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


def _malformed(detail: str, where: str | None = None) -> BrokenSidecar:
    return BrokenSidecar(detail, code="sidecar-malformed", field=where)


def _load(content: bytes) -> Mapping[str, object]:
    try:
        value = strict_json.read(content.removeprefix(codecs.BOM_UTF8))
    except strict_json.NotStrict:
        raise _malformed("The sidecar is not valid JSON in UTF-8.") from None
    if not isinstance(value, dict):
        raise _malformed("The sidecar is not a JSON object.")
    return value


def _letters(name: str) -> str:
    """However it is spelled: case, width, hyphens and blanks make no other name."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))


_CLAIMS = frozenset(map(_letters, TRUST_CLAIMS))
# As metadata they would govern nothing, and a file would be open that was meant to be closed.
_GOVERNING = {_letters(name): name for name in ("acl", "valid_from", "valid_to")}


def _refuse_claims(names: Mapping[str, object]) -> None:
    for name in names:
        if _letters(name) in _CLAIMS:
            raise BrokenSidecar(
                "A sidecar can't say whom its file is from or how far it is trusted.",
                code="sidecar-claims-trust",
                field=name[:128],
            )


def _refuse_misspelled(names: Mapping[str, object]) -> None:
    for name in names:
        meant = _GOVERNING.get(_letters(name), name)
        if name != meant:
            raise _malformed(f"This is spelled {meant}.", name[:128])


def _plain(name: str, value: object) -> object:
    """Unwraps the typed form."""
    if not isinstance(value, dict) or (name == "acl" and "allow" in value):
        return value
    typed = value.get("value")
    if not isinstance(typed, dict) or not set(value) <= {"value", "includeForEmbedding"}:
        raise _malformed("A value is plain or has the typed form.", name)
    kind = typed.get("type")
    member = _TYPED.get(kind) if isinstance(kind, str) else None
    if member is None or set(typed) != {"type", member}:
        raise _malformed("The typed form has a type and the value of that type.", name)
    plain = typed[member]
    fits = {
        "STRING": isinstance(plain, str),
        "NUMBER": isinstance(plain, int | float) and not isinstance(plain, bool),
        "BOOLEAN": isinstance(plain, bool),
        "STRING_LIST": isinstance(plain, list),
    }[str(kind)]
    if not fits:
        raise _malformed("The value is not of its stated type.", name)
    return plain


def _text(values: dict[str, object], name: str) -> str | None:
    value = values.pop(name, None)
    if value is not None and not isinstance(value, str):
        raise _malformed("This is a string.", name)
    return value


def _time(values: dict[str, object], name: str) -> datetime | None:
    text = _text(values, name)
    try:
        return None if text is None else parse_rfc3339(text)
    except ValueError as error:
        raise _malformed(f"This is {error}.", name) from None


def _acl(values: dict[str, object], tenant: str) -> Acl | None:
    value = values.pop("acl", None)
    if value is None:
        return None
    if isinstance(value, dict) and set(value) == {"allow"}:
        value = value["allow"]
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise _malformed("An ACL is a list of terms.", "acl")
    return validation.acl(given, tenant=tenant, field="acl")


def read(content: bytes, *, tenant: str) -> Sidecar:
    """Raises BrokenSidecar(sidecar-malformed | sidecar-too-large | sidecar-claims-trust)."""
    if len(content) > MAX_BYTES:
        raise BrokenSidecar(
            f"The sidecar is larger than {MAX_BYTES:,} bytes.", code="sidecar-too-large"
        )
    document = _load(content)
    _refuse_claims(document)
    attributes = document.get("metadataAttributes")
    if set(document) != {"metadataAttributes"} or not isinstance(attributes, dict):
        raise _malformed("The sidecar holds metadataAttributes and nothing else.")
    _refuse_claims(attributes)
    _refuse_misspelled(attributes)
    values = {name: _plain(name, value) for name, value in attributes.items()}
    try:
        start, end = _time(values, "valid_from"), _time(values, "valid_to")
        validation.validity(start, end)
        return Sidecar(
            title=validation.title(_text(values, "title")),
            acl=_acl(values, tenant),
            valid_from=start,
            valid_to=end,
            metadata=validation.metadata(values),
        )
    except Unprocessable as error:
        raise _malformed(error.detail, error.field) from None
