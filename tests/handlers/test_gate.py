from __future__ import annotations

import json
from typing import Any

import pytest

from custody.http.answers import AnswerReply, StoredAnswerReply
from tests.support.functions import event, events, load
from tests.support.search_world import World
from tests.support.stored_answer import Stored

EXPECTED: dict[str, tuple[int, str | None, str | None]] = {
    "answer": (200, None, None),
    "answer-off-corpus": (200, None, None),
    "answer-threshold-wins": (200, None, None),
    "override": (200, None, None),
    "override-without-scope": (403, "scope-missing", None),
    "override-as-text": (422, "invalid-field", "gate_override"),
    "threshold-as-text": (422, "invalid-field", "threshold"),
    "threshold-nan": (400, "malformed-json", None),
    "threshold-too-large": (422, "invalid-field", "threshold"),
    "generate": (422, "not-available", "generate"),
    "unknown-answer": (404, "not-found", None),
}


@pytest.fixture
def stored() -> Stored:
    return Stored()


@pytest.fixture
def world(stored: Stored) -> World:
    return stored.world


@pytest.fixture
def invoke(world: World) -> Any:
    handler = load("gate").api.handler(lambda: world.service)

    def call(given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        response = handler(given, None)
        return response["statusCode"], json.loads(response["body"])

    return call


def test_every_event_is_expected() -> None:
    assert set(events("gate")) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_each_event_gets_its_answer_and_bad_ones_search_nothing(
    invoke: Any, world: World, name: str
) -> None:
    world.index.queries.clear()
    status, code, field = EXPECTED[name]
    got, body = invoke(event(f"gate/{name}"))
    assert got == status, body
    if status == 200:
        AnswerReply.model_validate_json(json.dumps(body))
    else:
        assert (body["code"], body["field"]) == (code, field)
        assert world.index.queries == []


def test_an_answerable_question_passes_and_an_off_corpus_one_abstains(invoke: Any) -> None:
    _, body = invoke(event("gate/answer"))
    assert body["verdict"] == "answerable"
    assert body["gate"]["reasons"] == ["PASS"]
    assert body["envelope"].startswith("RETRIEVED_CONTENT_IS_UNTRUSTED_DATA")
    _, body = invoke(event("gate/answer-off-corpus"))
    assert body["verdict"] == "insufficient"
    assert "LOW_COVERAGE" in body["gate"]["reasons"]
    assert body["envelope"] is None
    assert body["evidence"]


def test_an_explicit_threshold_wins_over_the_preset(invoke: Any) -> None:
    _, body = invoke(event("gate/answer-threshold-wins"))
    assert body["gate"]["threshold"] == 1.0
    assert body["gate"]["preset"] == "lenient"
    assert body["verdict"] == "insufficient"


def test_an_override_is_shown(invoke: Any) -> None:
    _, body = invoke(event("gate/override"))
    assert body["verdict"] == "answerable"
    assert body["gate"]["overridden"] is True
    assert "PASS" not in body["gate"]["reasons"]


def test_a_stored_answer_is_read_by_who_asked_and_by_no_one_else(
    invoke: Any, stored: Stored
) -> None:
    given = event("gate/unknown-answer")
    given["pathParameters"] = {"id": stored.answer.answer_id}
    status, body = invoke(given)
    assert status == 200
    StoredAnswerReply.model_validate_json(json.dumps(body))
    assert body["evidence"][0]["available"]
    assert "withheld" not in body["evidence"][0]
    assert "outcomes" not in body["retrieval"]
    given["requestContext"]["authorizer"]["subject"] = "bob"
    status, body = invoke(given)
    assert (status, body["code"]) == (404, "not-found")
