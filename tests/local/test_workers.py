"""The local stack deploys the built template with fewer workers, and otherwise as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from custody_local import template, workers
from custody_local.paths import ROOT

TEMPLATE = (ROOT / "template.yaml").read_text()


def counts(path: Path) -> dict[str, object]:
    """MaximumConcurrency by event source mapping."""
    found = template.resources(template.load(path), "AWS::Lambda::EventSourceMapping")
    return {
        name: properties["ScalingConfig"]["MaximumConcurrency"]
        for name, properties in found.items()
    }


def test_only_the_worker_counts_differ_from_the_template() -> None:
    patched = workers.at_most(TEMPLATE, 2)
    changed = [
        (before.strip(), after.strip())
        for before, after in zip(TEMPLATE.splitlines(True), patched.splitlines(True), strict=True)
        if before != after
    ]
    assert len(changed) == TEMPLATE.count("MaximumConcurrency:") > 0
    assert {after for _, after in changed} == {"ScalingConfig: {MaximumConcurrency: 2}"}
    assert all(before.startswith("ScalingConfig: {MaximumConcurrency: ") for before, _ in changed)


def test_a_queues_function_gets_a_number_of_workers_and_the_built_template_stays(
    tmp_path: Path,
) -> None:
    built = tmp_path / "template.yaml"
    built.write_text(TEMPLATE)
    before = counts(built)
    copy = workers.deployable(built, 3)
    assert copy.parent == tmp_path  # the paths in it are relative to it
    assert built.read_text() == TEMPLATE
    assert set(before.values()) > {10}
    assert counts(copy) == dict.fromkeys(before, 3)
    assert all(type(count) is int for count in counts(copy).values())


def test_a_count_is_never_raised() -> None:
    assert workers.at_most(TEMPLATE, 1000) == TEMPLATE
    mixed = workers.at_most(TEMPLATE, 4)
    assert "MaximumConcurrency: 4" in mixed
    assert "MaximumConcurrency: 5" not in mixed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ScalingConfig: {MaximumConcurrency: 10}", "ScalingConfig: {MaximumConcurrency: 2}"),
        (
            "ScalingConfig:\n    MaximumConcurrency: 10  # a cloud's\nKey: !Ref MaximumConcurrency",
            "ScalingConfig:\n    MaximumConcurrency: 2  # a cloud's\nKey: !Ref MaximumConcurrency",
        ),
        (
            "ScalingConfig: {Other: 10, MaximumConcurrency: 10}",
            "ScalingConfig: {Other: 10, MaximumConcurrency: 2}",
        ),
        ("Text: 'ScalingConfig: {MaximumConcurrency: 10}'", None),
        ("MaximumConcurrency: 10", None),
        ("- ScalingConfig: {MaximumConcurrency: 2}", None),
    ],
)
def test_a_count_is_found_by_its_place_and_not_by_its_spelling(
    before: str, after: str | None
) -> None:
    assert workers.at_most(before, 2) == (before if after is None else after)


@pytest.mark.parametrize(("cores", "most"), [(1, 2), (2, 2), (8, 8), (None, 2)])
def test_each_core_gets_a_worker_and_never_less_than_aws_allows(
    cores: int | None, most: int
) -> None:
    assert workers.on(cores) == most
