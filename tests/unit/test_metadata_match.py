"""Tags and ordered values of metadata."""

from __future__ import annotations

import pytest

from custody.domain.index.candidates import Range
from custody.domain.index.metadata_match import (
    AnyTag,
    Between,
    OrderedValue,
    conditions,
    microseconds,
    moment_of,
    ordered_values,
    tag,
    tags,
)
from custody.domain.model import MetadataValue
from custody.domain.timestamps import parse_rfc3339
from custody.errors import Unprocessable


def test_equal_values_share_a_tag_and_others_do_not() -> None:
    assert tag("k", 1) == tag("k", 1.0)
    different = [
        tag("k", 1),
        tag("k", "1"),
        tag("k", True),
        tag("k", "True"),
        tag("k", 1.5),
        tag("k2", 1),
        tag('k","s', "x"),
        tag("k", 's","x'),
        tag("k", ""),
    ]
    assert len(set(different)) == len(different)


def test_each_element_of_a_list_has_a_tag() -> None:
    assert tags({"a": ("x", "y", "x"), "b": 2}) == sorted(
        [tag("a", "x"), tag("a", "y"), tag("b", 2)]
    )


def test_numbers_and_times_are_ordered_and_nothing_else_is() -> None:
    metadata: dict[str, MetadataValue] = {
        "n": 2,
        "b": True,
        "s": "word",
        "t": ("2026-01-01T01:00:00+01:00", "x"),
    }
    assert ordered_values(metadata) == [
        OrderedValue("n", number=2.0),
        OrderedValue("t", time=microseconds(parse_rfc3339("2026-01-01T00:00:00Z"))),
    ]


def test_microseconds_are_exact() -> None:
    moment = parse_rfc3339("2026-01-31T12:34:56.789012Z")
    assert moment_of(microseconds(moment)) == moment


def test_conditions() -> None:
    assert conditions({"a": ("x", 1), "n": Range(gte=1)}) == [
        AnyTag(tuple(sorted([tag("a", "x"), tag("a", 1)]))),
        Between("n", "number", 1.0, None),
    ]


@pytest.mark.parametrize(
    "bounds",
    [
        Range(),
        Range(gte="yesterday"),
        Range(gte=1, lte="2026-01-01T00:00:00Z"),
        Range(gte=float("nan")),
        Range(lte=True),
        Range(gte=10**400),
    ],
)
def test_a_range_without_usable_bounds_is_refused(bounds: Range) -> None:
    with pytest.raises(Unprocessable) as refused:
        conditions({"year": bounds})
    assert refused.value.field == "filter.year"
