from __future__ import annotations

from datetime import UTC, datetime

import pytest

from custody.domain.timestamps import format_rfc3339, parse_rfc3339


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31t12:00:00z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31T12:00:00.123456789Z", datetime(2026, 1, 31, 12, 0, 0, 123456, UTC)),
        ("2026-01-31T00:30:00+01:00", datetime(2026, 1, 30, 23, 30, tzinfo=UTC)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),
    ],
)
def test_rfc_3339_is_read_as_utc(text: str, moment: datetime) -> None:
    assert parse_rfc3339(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z", "2026-01-31T25:00:00Z", "2026-W05-6T12:00:00Z",
        "2026-01-31T12:00Z", "2026-01-31T12:00:00+25:00", "٢٠٢٦-01-31T12:00:00Z",
        "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:60Z", "2026-01-31T12:00:00Z\n",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_rfc3339(text)


def test_a_time_is_written_in_utc_with_a_z() -> None:
    assert (
        format_rfc3339(parse_rfc3339("2026-01-31T00:30:00.5+01:00"))
        == "2026-01-30T23:30:00.500000Z"
    )
    with pytest.raises(ValueError):
        format_rfc3339(datetime(2026, 1, 1))  # noqa: DTZ001
