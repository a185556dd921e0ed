"""Waiting for drops: by the object's own version, in order, and not for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from custody_cli.ingestion import Pace, through_drop
from custody_cli.sources_on_disk import FileItem
from custody_client.types import Drop


class Ledger:
    """Answers ``find_drop`` from a script of states a name; the last one stays."""

    def __init__(self, script: dict[str, list[tuple[str, str] | None]]) -> None:
        self.script = script
        self.asked: list[str] = []

    def find_drop(self, name: str, source_id: str) -> Drop | None:
        self.asked.append(name)
        states = self.script[name]
        seen = states.pop(0) if len(states) > 1 else states[0]
        if seen is None:
            return None
        state, version = seen
        return {
            "source_id": source_id,
            "name": name,
            "state": state,
            "object_version": version,
            "document_id": f"d-{name}",
            "version": int(version[1:]),
            "reasons": [],
            "updated_at": None,
        }


class Box:
    def put(self, source_id: str, item: FileItem) -> str | None:
        return "v2"


def drop_all(script: dict[str, list[tuple[str, str] | None]]) -> tuple[list[Any], list[float]]:
    now = [0.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    pace = Pace(timeout=10, sleep=sleep, monotonic=lambda: now[0])
    items = [FileItem(Path(name), name, "text/plain", 1) for name in script]
    return through_drop(Ledger(script), Box(), "s", items, pace, lambda _: None), slept


def test_what_became_of_an_earlier_object_of_that_name_is_waited_over() -> None:
    outcomes, slept = drop_all({"a": [("ACTIVE", "v1"), ("PENDING", "v2"), ("ACTIVE", "v2")]})
    assert (outcomes[0].state, outcomes[0].version) == ("ACTIVE", 2)
    assert len(slept) == 2


def test_an_earlier_rejection_is_no_rejection_of_this_object() -> None:
    outcomes, _ = drop_all({"a": [("REJECTED", "v1"), ("ACTIVE", "v2")]})
    assert outcomes[0].state == "ACTIVE"


def test_outcomes_keep_the_order_of_the_files() -> None:
    outcomes, _ = drop_all({"a": [None, None, ("ACTIVE", "v2")], "b": [("REJECTED", "v2")]})
    assert [(one.name, one.state) for one in outcomes] == [("a", "ACTIVE"), ("b", "REJECTED")]


@pytest.mark.parametrize("stuck", [None, ("PENDING", "v2"), ("ACTIVE", "v1")])
def test_waiting_ends_with_the_time_and_says_pending(stuck: tuple[str, str] | None) -> None:
    outcomes, slept = drop_all({"a": [stuck], "b": [("ACTIVE", "v2")]})
    assert [one.state for one in outcomes] == ["PENDING", "ACTIVE"]
    assert 10 <= sum(slept) < 13
