"""RFC 3339 times, read strictly and written one way.

The standard library's ``fromisoformat`` takes week dates, missing offsets and any separator, so
the shape is checked here first. A time without an offset is refused, never guessed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_RFC3339 = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]"
    r"(?P<time>[0-9]{2}:[0-9]{2}):(?P<second>[0-9]{2})(?P<fraction>\.[0-9]{1,9})?"
    r"(?P<offset>[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def parse_rfc3339(text: str) -> datetime:
    """An aware UTC datetime. Digits beyond microseconds are cut; a leap second becomes the next
    second. Raises ValueError."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z")
    leap = match["second"] == "60"
    second = "59" if leap else match["second"]
    fraction = (match["fraction"] or "")[:7]
    offset = "+00:00" if match["offset"] in "Zz" else match["offset"]
    try:
        moment = datetime.fromisoformat(
            f"{match['date']}T{match['time']}:{second}{fraction}{offset}"
        ).astimezone(UTC)
        return moment.replace(microsecond=0) + timedelta(seconds=1) if leap else moment
    except OverflowError:
        raise ValueError("a time outside the years 1 to 9999") from None


def format_rfc3339(moment: datetime) -> str:
    """UTC with a ``Z``; microseconds only where there are any."""
    if moment.tzinfo is None:
        raise ValueError("a time without an offset")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
