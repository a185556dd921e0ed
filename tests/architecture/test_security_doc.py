"""docs/security.md names, for each threat, the tests that hold what stops it."""

from __future__ import annotations

import re

import pytest

from custody_local.paths import ROOT
from tests.architecture.roles import ROLES

TEXT = (ROOT / "docs/security.md").read_text("utf-8")


def threats() -> dict[str, str]:
    """Threat to its tests, as told."""
    table = TEXT.partition("## Threats")[2].partition("## Roles")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert rows[0] == ["threat", "what stops it", "its test", "what doesn't"]
    return {row[0]: row[2] for row in rows[1:]}


def known() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        found.add(path.stem)
        found |= set(re.findall(r"def (test_\w+)\(", path.read_text("utf-8")))
    return found


@pytest.mark.parametrize("threat", threats())
def test_what_stops_a_threat_has_a_test(threat: str) -> None:
    named = re.findall(r"`(test_\w+)`", threats()[threat])
    assert named
    assert set(named) <= known()


@pytest.mark.parametrize("table", ["trust", "revocations", "ledger", "work", "builds"])
def test_who_writes_and_who_reads_a_table_is_as_the_roles_are(table: str) -> None:
    (row,) = re.findall(rf"^\| {table} \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)

    def holders(*actions: str) -> set[str]:
        return {
            name
            for name, rights in ROLES.items()
            if any(f"table/{table}" in rights.get(f"dynamodb:{action}", ()) for action in actions)
        }

    writers = set(re.findall(r"`(\w+)`", row[0]))
    assert writers == holders("UpdateItem", "PutItem", "DeleteItem")
    told = set(re.findall(r"`(\w+)`", row[1]))
    readers = set(ROLES) - told if row[1].startswith("all but") else writers | told
    assert readers == holders("GetItem", "BatchGetItem", "Query", "Scan")
