"""What a request is made of: its fields, ACLs, times and ids."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote


def given(**fields: object) -> dict[str, object]:
    """Only what was given: the service refuses fields that it doesn't know, null included."""
    return {name: value for name, value in fields.items() if value is not None}


def acl(terms: Sequence[str] | None) -> dict[str, list[str]] | None:
    if isinstance(terms, str):
        raise TypeError("an ACL is a list of terms, not one string")
    return None if terms is None else {"allow": list(terms)}


def time(value: datetime | str | None) -> str | None:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError("times need a time zone")
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def segment(value: str) -> str:
    """One path segment. Identifiers never hold a slash, and dots alone would climb the path."""
    if not value or "/" in value or value in {".", ".."}:
        raise ValueError(f"{value!r} can't be an identifier")
    return quote(value, safe=":")
