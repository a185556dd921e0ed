"""The rebuild function: what it does with each message of its queue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch.exceptions import UnexpectedBatchTypeError

from custody.adapters.sqlite_index import SqliteIndex
from custody.bootstrap import Service
from custody.domain.index.builds import BuildState
from custody_memory.ports import FixedLimits
from tests.support.functions import event, events, load
from tests.support.rebuild_world import RebuildWorld

EXPECTED: dict[str, list[int]] = {
    "rebuild": [],
    "unknown-build": [1],
    "index": [],
    "malformed": [1, 2, 3, 4],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RebuildWorld]:
    index = SqliteIndex(str(tmp_path / "index.db"))
    made = RebuildWorld(index)
    made.source()
    made.publish_document("guide")
    yield made
    index.close()


def handled(world: RebuildWorld, given: dict[str, Any]) -> list[int]:
    """Numbers of the messages that come again."""
    reply = load("rebuild").batches.handler(lambda: world.service)(given, None)
    failed = {item["itemIdentifier"] for item in reply["batchItemFailures"]}
    ids = [record["messageId"] for record in given["Records"]]
    return [place for place, name in enumerate(ids, 1) if name in failed]


def test_every_event_is_expected() -> None:
    assert set(events("rebuild")) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_only_the_messages_that_failed_come_again(world: RebuildWorld, name: str) -> None:
    world.begin()
    assert handled(world, event(f"rebuild/{name}")) == EXPECTED[name]


def test_a_message_carries_a_build_to_its_end(world: RebuildWorld) -> None:
    key = world.begin()
    assert handled(world, event("rebuild/rebuild")) == []
    assert world.build(key).state is BuildState.SERVED
    assert world.live() == {("guide", 1)}


def test_a_batch_without_messages_makes_the_use_cases_and_does_nothing(world: RebuildWorld) -> None:
    world.killer.calls = 0
    service = Service(world.ports, FixedLimits())
    handler = load("rebuild").batches.handler(lambda: service)
    assert handler({"Records": []}, None) == {"batchItemFailures": []}
    assert {"rebuild", "index_elsewhere"} <= set(vars(service))
    assert world.killer.calls == 0


def test_what_is_no_batch_at_all_is_refused(world: RebuildWorld) -> None:
    with pytest.raises(UnexpectedBatchTypeError):
        load("rebuild").batches.handler(lambda: world.service)({}, None)
