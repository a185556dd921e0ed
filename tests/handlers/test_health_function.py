from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from custody.application.health import Health
from custody.errors import Unavailable
from custody.http import Edge
from tests.support.functions import event, load
from tests.support.search_world import World


@pytest.mark.parametrize("down", [False, True])
def test_health_needs_no_token_and_tells_each_dependency(
    monkeypatch: pytest.MonkeyPatch, down: bool
) -> None:
    world = World()
    index: Any = world.index
    if down:
        world.index.fault = Unavailable("at 10.1.2.3", code="index-unavailable")
    health = Health({"index": index}, world.clock)
    edge = Edge(clock=world.clock, max_token_age=timedelta(hours=1))
    app = load(monkeypatch, "health", health=lambda: health, edge=lambda: edge)
    response = app.handler(event("health/health"), None)
    body = json.loads(response["body"])
    assert response["statusCode"] == (503 if down else 200)
    assert body["dependencies"] == {"index": "unavailable" if down else "ok"}
    assert "10.1.2.3" not in response["body"]
