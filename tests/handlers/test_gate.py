from __future__ import annotations

import json
from typing import Any

import pytest

from custody.domain.model import Acl
from custody.http.schemas.answers import AnswerReply
from custody.http.schemas.stored_answers import StoredAnswerReply
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


def read_back(invoke: Any, answer_id: str, **caller: str) -> tuple[int, dict[str, Any]]:
    given = event("gate/unknown-answer")
    given["pathParameters"] = {"id": answer_id}
    given["requestContext"]["authorizer"].update(caller)
    status, body = invoke(given)
    return status, body


def test_a_filter_is_told_as_it_was_asked(invoke: Any, world: World) -> None:
    world.publish("dated", "Parental leave.", metadata={"team": "people", "year": 2026})
    clauses = {"team": ["people", "x"], "year": {"gte": 2020}}
    asked = event("gate/answer")
    asked["body"] = json.dumps({**json.loads(asked["body"]), "filter": clauses})
    _, answer = invoke(asked)
    _, body = read_back(invoke, answer["answer_id"])
    assert body["request"]["filter"] == clauses
    assert body["request"]["filter_fields"] == ["team", "year"]


def test_an_auditor_is_told_more_of_the_retrieval(invoke: Any, stored: Stored) -> None:
    _, own = read_back(invoke, stored.answer.answer_id)
    scope = "custody/read custody/audit"
    _, audited = read_back(invoke, stored.answer.answer_id, subject="eve", scope=scope)
    assert audited["subject"] == own["subject"] == "ann"
    assert audited["retrieval"]["outcomes"] == {"VERIFIED": 2}
    assert audited["evidence"][0]["withheld"] is None
    assert set(audited["retrieval"]) - set(own["retrieval"]) == {"outcomes", "withheld"}
    StoredAnswerReply.model_validate_json(json.dumps(audited))


def test_a_word_that_may_no_longer_be_shown_is_null() -> None:
    stored = Stored(("leave", "Sixteen weeks."), question="Who won the cup in 1998?")
    handler = load("gate").api.handler(lambda: stored.world.service)
    given = event("gate/unknown-answer")
    given["pathParameters"] = {"id": stored.answer.answer_id}
    words = json.loads(handler(given, None)["body"])["attempts"][1]["added_terms"]
    assert set(words) == {"sixteen", "title", "weeks"}
    stored.world.change_head(stored.head, narrowed_to=Acl.of("user:bob"))
    body = json.loads(handler(given, None)["body"])
    assert body["attempts"][1]["added_terms"] == [None] * len(words)
    StoredAnswerReply.model_validate_json(json.dumps(body))
