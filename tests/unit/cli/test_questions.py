from __future__ import annotations

from typing import Any

import pytest

from custody_cli.commands.questions import parse_filters
from custody_cli.errors import CommandError
from tests.support.fake_api import FakeApi, Scripted, problem
from tests.unit.cli.conftest import FakeStack, Run, RunJson


@pytest.fixture
def gate(api: FakeApi) -> dict[str, Any]:
    """One document about a sluice gate."""
    return api._store("gate", "notes", "gate", b"the sluice gate is opened by two people", "Gate")


def test_search_finds_and_asks_with_no_more_than_the_read_scope(
    stack: FakeStack, gate: dict[str, Any], run_json: RunJson, api: FakeApi
) -> None:
    code, told = run_json("search", "sluice gate", "-k", "3")
    assert code == 0
    assert [found["document_id"] for found in told["results"]] == ["gate"]
    assert stack.minted[0] == {
        "tenant": "local", "subject": "me", "groups": [], "scopes": ["custody/read"],
    }  # fmt: skip
    (asked,) = api.calls("POST", "/v1/search")
    assert asked.json == {"query": "sluice gate", "k": 3, "route": "auto", "fusion": "rrf"}


def test_search_shows_what_a_person_wants_to_see(
    stack: FakeStack, gate: dict[str, Any], run: Run
) -> None:
    shown = run("search", "sluice gate").stdout
    for word in ("Gate", "VERIFIED", "two people", "internal", "#1", "tr-1"):
        assert word in shown


def test_nothing_found_is_1(
    stack: FakeStack, gate: dict[str, Any], run: Run, run_json: RunJson
) -> None:
    code, told = run_json("search", "xylophone")
    assert (code, told["results"]) == (1, [])
    assert run("search", "xylophone").exit_code == 1


def test_the_principal_of_the_options_is_asked_for(
    stack: FakeStack, gate: dict[str, Any], run_json: RunJson
) -> None:
    run_json("search", "gate", "--tenant", "acme", "--subject", "ana", "--groups", "eng, ops")
    assert stack.minted[0]["tenant"] == "acme"
    assert stack.minted[0]["subject"] == "ana"
    assert stack.minted[0]["groups"] == ["eng", "ops"]


def test_audit_and_override_ask_for_their_scopes(
    stack: FakeStack, gate: dict[str, Any], run_json: RunJson
) -> None:
    run_json("search", "gate", "--audit")
    run_json("answer", "gate", "--override")
    assert stack.minted[0]["scopes"] == ["custody/read", "custody/audit"]
    assert stack.minted[1]["scopes"] == ["custody/read", "custody/override"]


def test_retrieved_text_drives_neither_the_markup_nor_the_terminal(
    stack: FakeStack, api: FakeApi, run: Run
) -> None:
    hostile = "gate [bold red]really[/] \x1b[2J\x1b]0;owned\x07 \u202edlrow [link=http://x]a[/link]"
    api._store("gate", "notes", "[red]gate", hostile.encode(), "[bold]Gate\x1b[31m")
    for words in (("search", "gate"), ("search", "gate", "--full"), ("answer", "gate")):
        result = run(*words)
        assert result.exit_code == 0
        assert "\x1b" not in result.stdout
        assert "\x07" not in result.stdout
        assert "\u202e" not in result.stdout
        assert "[bold red]" in result.stdout.replace("\n", "")
    shown = run("search", "gate", "--json").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_answer_exits_by_the_verdict(
    stack: FakeStack, gate: dict[str, Any], api: FakeApi, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("answer", "sluice gate")
    assert (code, told["verdict"]) == (0, "answerable")
    for verdict in ("insufficient", "needs_review"):
        api.verdict = verdict
        code, told = run_json("answer", "sluice gate")
        assert (code, told["verdict"]) == (1, verdict)
    shown = run("answer", "sluice gate").stdout
    for word in ("needs_review", "LOW_COVERAGE", "coverage", "0.550", "an-4"):
        assert word in shown


def test_answer_sends_a_preset_or_a_threshold_but_not_both(
    stack: FakeStack, gate: dict[str, Any], api: FakeApi, run_json: RunJson, run: Run
) -> None:
    run_json("answer", "gate", "--preset", "strict")
    run_json("answer", "gate", "--threshold", "0.6")
    first, second = api.calls("POST", "/v1/answers")
    assert first.json["preset"] == "strict"
    assert second.json["threshold"] == 0.6
    assert "preset" not in second.json
    assert run("answer", "gate", "--preset", "strict", "--threshold", "0.6").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("search",),
        ("search", "  "),
        ("search", "x" * 2001),
        ("search", "q", "-k", "0"),
        ("search", "q", "-k", "101"),
        ("search", "q", "--route", "graph"),
        ("search", "q", "--filter", "nonsense"),
        ("answer", "q", "--threshold", "1.5"),
        ("answer", "q", "--preset", "kind"),
    ],
)
def test_wrong_usage_is_2_and_asks_nothing(
    stack: FakeStack, api: FakeApi, run: Run, words: tuple[str, ...]
) -> None:
    assert run(*words).exit_code == 2
    assert api.seen == []


def test_a_refusal_is_1_and_says_the_code_the_field_and_the_trace(
    stack: FakeStack, api: FakeApi, run: Run, run_json: RunJson
) -> None:
    api.scripted.append(problem(403, "scope-missing", "This needs the scope custody/audit."))
    result = run("search", "q")
    assert result.exit_code == 1
    assert result.stdout == ""
    for word in ("scope-missing", "custody/audit", "trace-1", "--scopes"):
        assert word in result.stderr
    api.scripted.append(problem(422, "not-available", "No.", "as_of"))
    code, told = run_json("search", "q")
    assert code == 1
    assert told["error"]["code"] == "not-available"
    assert told["error"]["field"] == "as_of"
    assert told["error"]["status"] == 422


def test_an_outage_is_2_and_not_an_empty_result(
    stack: FakeStack, api: FakeApi, run_json: RunJson
) -> None:
    down = problem(503, "index-unavailable", "The index can't answer.")
    api.scripted.extend([Scripted(503, down.body, {"retry-after": "0"})] * 10)
    code, told = run_json("search", "q")
    assert (code, told["error"]["code"]) == (2, "index-unavailable")


def test_nobody_at_the_address_is_2(
    monkeypatch: pytest.MonkeyPatch, no_stack: FakeStack, run_json: RunJson
) -> None:
    monkeypatch.setenv("CUSTODY_API_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("CUSTODY_TOKEN", "t")
    code, told = run_json("search", "q")
    assert (code, told["error"]["code"]) == (2, "unreachable")


def test_another_deployment_is_asked_with_its_own_token(
    monkeypatch: pytest.MonkeyPatch, no_stack: FakeStack, api: FakeApi, run_json: RunJson
) -> None:
    monkeypatch.setenv("CUSTODY_API_URL", api.url)
    monkeypatch.setenv("CUSTODY_TOKEN", "theirs")
    run_json("search", "q")
    (asked,) = api.calls("POST", "/v1/search")
    assert asked.headers["authorization"] == "Bearer theirs"
    assert no_stack.minted == []


def test_another_deployment_without_a_token_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, api: FakeApi, no_stack: FakeStack, run: Run
) -> None:
    monkeypatch.setenv("CUSTODY_API_URL", api.url)
    result = run("search", "q")
    assert result.exit_code == 2
    assert "CUSTODY_TOKEN" in result.stderr
    assert api.seen == []


def test_a_subject_can_not_be_chosen_on_another_deployment(
    monkeypatch: pytest.MonkeyPatch, api: FakeApi, no_stack: FakeStack, run: Run
) -> None:
    monkeypatch.setenv("CUSTODY_API_URL", api.url)
    monkeypatch.setenv("CUSTODY_TOKEN", "t")
    result = run("search", "q", "--subject", "somebody")
    assert result.exit_code == 2
    assert api.seen == []


def test_an_address_that_is_none_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, no_stack: FakeStack, run: Run
) -> None:
    monkeypatch.setenv("CUSTODY_API_URL", "custody.example")
    monkeypatch.setenv("CUSTODY_TOKEN", "t")
    result = run("search", "q")
    assert result.exit_code == 2
    assert "CUSTODY_API_URL" in result.stderr


def test_no_error_shows_the_token(
    monkeypatch: pytest.MonkeyPatch, no_stack: FakeStack, api: FakeApi, run: Run
) -> None:
    monkeypatch.setenv("CUSTODY_API_URL", api.url)
    monkeypatch.setenv("CUSTODY_TOKEN", "very-secret")
    api.scripted.append(Scripted(401, {"message": "Unauthorized"}))
    result = run("search", "q")
    assert result.exit_code == 1
    assert "very-secret" not in result.output + repr(result.exception)


# --- filters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        (["lang=en"], {"lang": "en"}),
        (["lang=en", "lang=de", "lang=fr"], {"lang": ["en", "de", "fr"]}),
        (["year=2024"], {"year": 2024}),
        (["year=2024", "year=2025"], {"year": [2024, 2025]}),
        (['year="2024"'], {"year": "2024"}),
        (["draft=false"], {"draft": False}),
        (["year>=2020", "year<=2024"], {"year": {"gte": 2020, "lte": 2024}}),
        (["since>=2024-01-01"], {"since": {"gte": "2024-01-01"}}),
        (["note=a=b"], {"note": "a=b"}),
        (["note="], {"note": ""}),
        (["size=NaN"], {"size": "NaN"}),
        (["size=1e999"], {"size": "1e999"}),
    ],
)
def test_filters_are_read_as_written(
    clauses: list[str], expected: dict[str, object] | None
) -> None:
    assert parse_filters(clauses) == expected


@pytest.mark.parametrize(
    "clauses",
    [["year"], ["=x"], ["y=1", "y>=2"], ["y>=2", "y=1"], ["y>=true"]],
)
def test_filters_that_say_two_things_are_refused(clauses: list[str]) -> None:
    with pytest.raises(CommandError) as raised:
        parse_filters(clauses)
    assert raised.value.exit_code == 2
