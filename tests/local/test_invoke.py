from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import Any

import pytest

from custody_local import invoke
from custody_local.paths import ROOT
from custody_local.stack import Stack

EVENTS = ROOT / "events"


def event(name: str) -> Any:
    return json.loads((EVENTS / name).read_text())


def test_an_event_keeps_its_tokens_age_and_rest_of_life() -> None:
    recorded = event("query/search.json")
    moved = invoke.as_if_now(recorded, 2_000_000_000.5)
    before, after = recorded["requestContext"], moved["requestContext"]
    assert abs(after["requestTimeEpoch"] / 1000 - 2_000_000_000.5) <= 1
    for name in ("issued_at", "expires_at"):
        age = before["requestTimeEpoch"] // 1000 - int(before["authorizer"][name])
        assert after["requestTimeEpoch"] // 1000 - int(after["authorizer"][name]) == age
    assert {k: v for k, v in moved.items() if k != "requestContext"} == {
        k: v for k, v in recorded.items() if k != "requestContext"
    }


@pytest.mark.parametrize("given", [{}, [], "text", {"Records": []}, {"requestContext": None}])
def test_an_event_without_a_time_stays_as_it_is(given: Any) -> None:
    assert invoke.as_if_now(given, 2_000_000_000.0) == given


@pytest.mark.slow
@pytest.mark.emulator
@pytest.mark.timeout(600)
@pytest.mark.skipif(platform.system() != "Linux", reason="the emulator is a Linux program")
@pytest.mark.parametrize(
    ("function", "name", "status"),
    [
        ("query", "search.json", 200),
        ("query", "expired-token.json", 401),
        ("query", "unknown-field.json", 422),
        ("health", "health.json", 200),
    ],
)
def test_a_built_handler_replies_under_the_interface_emulator(
    local_stack: Stack, tmp_path: Path, function: str, name: str, status: int
) -> None:
    state = local_stack.status().state
    assert state is not None
    given = invoke.as_if_now(event(f"{function}/{name}"), time.time())
    reply = invoke.call(local_stack, state, function, given, tmp_path / "log")
    assert reply["statusCode"] == status, reply
