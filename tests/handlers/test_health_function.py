from __future__ import annotations

import json

import pytest

from tests.support.functions import event, load
from tests.support.ingest_world import World


@pytest.mark.parametrize("down", [False, True])
def test_health_needs_no_token_and_tells_each_dependency(down: bool) -> None:
    world = World()
    if down:
        world.index.down = True
    response = load("health").api.handler(lambda: world.service)(event("health/health"), None)
    body = json.loads(response["body"])
    assert response["statusCode"] == (503 if down else 200)
    assert body["dependencies"] == {
        "trust": "ok",
        "ledger": "ok",
        "work": "ok",
        "index": "unavailable" if down else "ok",
    }
    assert "does not answer" not in response["body"]
