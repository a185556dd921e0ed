from __future__ import annotations

import json
from typing import Any

import pytest

from custody.errors import Unavailable
from custody.http.schemas.search import SearchReply
from tests.support.functions import event, events, load
from tests.support.search_world import World

EXPECTED: dict[str, tuple[int, str | None, str | None]] = {
    "search": (200, None, None),
    "search-narrowed": (200, None, None),
    "search-as-auditor": (200, None, None),
    "search-of-another-tenant": (200, None, None),
    "empty-query": (422, "invalid-field", "query"),
    "long-query": (422, "invalid-field", "query"),
    "k-too-large": (422, "invalid-field", "k"),
    "k-as-text": (422, "invalid-field", "k"),
    "nan": (400, "malformed-json", None),
    "malformed-json": (400, "malformed-json", None),
    "unknown-field": (422, "unknown-field", "top_k"),
    "unknown-route": (422, "invalid-field", "route"),
    "graph-route": (422, "not-available", "route"),
    "as-of": (422, "not-available", "as_of"),
    "no-token": (401, "token-missing", None),
    "expired-token": (401, "token-expired", None),
    "without-scope": (403, "scope-missing", None),
}


@pytest.fixture
def world() -> World:
    made = World()
    made.publish(
        "leave", "Employees get sixteen weeks of parental leave.", metadata={"team": "people"}
    )
    made.publish("lunch", "Lunch is served at noon.")
    return made


@pytest.fixture
def invoke(world: World) -> Any:
    handler = load("query").api.handler(lambda: world.service)

    def call(given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        response = handler(given, None)
        return response["statusCode"], json.loads(response["body"])

    return call


def test_every_event_is_expected() -> None:
    assert set(events("query")) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_each_event_gets_its_answer_and_bad_ones_reach_nothing(
    invoke: Any, world: World, name: str
) -> None:
    status, code, field = EXPECTED[name]
    got, body = invoke(event(f"query/{name}"))
    assert got == status, body
    if status == 200:
        SearchReply.model_validate_json(json.dumps(body))
    else:
        assert (body.get("code"), body.get("field")) == (code, field)
        assert world.index.queries == []
        assert world.ledger.reads == 0


@pytest.mark.parametrize(
    ("fields", "field", "code"),
    [
        ({"filters": {"team": "a"}}, "filters", "unknown-field"),
        ({"filter": {"trust_domain": "official"}}, "filter.trust_domain", "unknown-field"),
        ({"filter": {"source_ids": ["wiki"]}}, "filter.source_ids", "unknown-field"),
        ({"filter": {"acl": "everyone"}}, "filter.acl", "unknown-field"),
        ({"filter": {"": "x"}}, "filter.", "unknown-field"),
        ({"filter": {"a\nb": "x"}}, "filter.a\nb", "unknown-field"),
        ({"filter": {"n" * 129: "x"}}, "filter." + "n" * 128, "unknown-field"),
        ({"filter": {"year": {"gt": 1}}}, "filter.year.gt", "unknown-field"),
        ({"filter": {"year": {}}}, "filter.year", "invalid-field"),
        ({"filter": {"year": {"gte": 1, "lte": "2026-01-01T00:00:00Z"}}}, "filter.year",
         "invalid-field"),
        ({"filter": {"year": {"gte": "soon"}}}, "filter.year", "invalid-field"),
        ({"filter": {"year": None}}, "filter.year", "invalid-field"),
        ({"filter": {"year": []}}, "filter.year", "invalid-field"),
        ({"filter": {"year": [[1]]}}, "filter.year", "invalid-field"),
        ({"filter": {"year": {"gte": True}}}, "filter.year", "invalid-field"),
        ({"filter": {f"f{n}": 1 for n in range(11)}}, "filter", "invalid-field"),
        ({"filter": {"team": "x" * 1025}}, "filter.team", "invalid-field"),
        ({"filter": {"team": ["a", "x" * 1025]}}, "filter.team", "invalid-field"),
        ({"filter": {"year": {"gte": "x" * 1025}}}, "filter.year", "invalid-field"),
        ({"filter": {"team": ["a"] * 101}}, "filter.team", "invalid-field"),
        ({"filter": {"team": [f"{n:01000}" for n in range(33)]}}, "filter", "invalid-field"),
        ({"source_ids": ["x" * 257]}, "source_ids.0", "invalid-field"),
        ({"source_ids": [""]}, "source_ids.0", "invalid-field"),
        ({"source_ids": ["a"] * 101}, "source_ids", "invalid-field"),
        ({"trust_domains": ["x" * 257]}, "trust_domains.0", "invalid-field"),
        ({"trust_domains": ["a"] * 101}, "trust_domains", "invalid-field"),
    ],
)  # fmt: skip
def test_a_filter_that_can_not_bind_is_refused(
    invoke: Any, world: World, fields: dict[str, Any], field: str, code: str
) -> None:
    given = event("query/search")
    given["body"] = json.dumps(json.loads(given["body"]) | fields)
    status, body = invoke(given)
    assert (status, body.get("code")) == (422, code), body
    assert body["field"] == field
    assert world.index.queries == []


def test_a_search_gives_the_evidence_with_where_it_comes_from(invoke: Any) -> None:
    _, body = invoke(event("query/search"))
    first = body["results"][0]
    assert first["document_id"] == "leave"
    assert first["provenance"]["outcome"] == "VERIFIED"
    assert first["scores"]["semantic"] == {"rank": 1}
    assert body["legs"] == ["semantic", "lexical"]


def test_leg_scores_and_what_was_withheld_are_not_told_to_readers(
    invoke: Any, world: World
) -> None:
    head = world.publish("old", "Parental leave was twelve weeks.")
    world.change_head(head, envelope=None)
    _, body = invoke(event("query/search"))
    assert "withheld" not in body
    assert "score" not in body["results"][0]["scores"]["lexical"]


def test_an_auditor_sees_counts_and_scores(invoke: Any, world: World) -> None:
    head = world.publish("old", "Parental leave was twelve weeks.")
    world.change_head(head, envelope=None)
    given = event("query/search-as-auditor")
    _, body = invoke(given)
    assert body["withheld"] == {"statement-missing": 1}
    assert body["results"][0]["scores"]["semantic"]["score"] > 0.5


def test_another_tenant_sees_nothing_of_it(invoke: Any) -> None:
    status, body = invoke(event("query/search-of-another-tenant"))
    assert (status, body["results"]) == (200, [])


def test_an_outage_of_the_index_is_503_and_never_an_empty_list(invoke: Any, world: World) -> None:
    world.index.fault = Unavailable("timed out", code="index-unavailable")
    status, body = invoke(event("query/search"))
    assert (status, body.get("code")) == (503, "index-unavailable")


def test_a_metric_is_written_for_each_outcome(
    invoke: Any, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    head = world.publish("old", "Parental leave was twelve weeks.")
    world.change_head(head, envelope=None)
    invoke(event("query/search"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    metric = next(line for line in lines if "_aws" in line)
    assert metric["VERIFIED"] == [2.0]
    assert metric["UNVERIFIED"] == [1.0]


def test_a_log_line_holds_no_word_of_the_question(
    invoke: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(event("query/search"))
    assert "parental" not in capsys.readouterr().out
