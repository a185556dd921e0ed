"""A command line that can't be read is told in the form that was asked for."""

from __future__ import annotations

import pytest

from tests.support.fake_api import FakeApi
from tests.unit.cli.conftest import FakeStack, Run, RunJson

WRONG: dict[tuple[str, ...], str] = {
    ("search",): "Missing argument 'query'",
    ("nonsense",): "No such command 'nonsense'",
    ("show", "gate", "--nope"): "No such option: --nope",
    ("show", "gate", "--version", "one"): "Invalid value for '--version'",
    ("show", "gate", "more"): "unexpected extra argument",
    ("key", "revoke"): "Missing argument 'keyid'",
    ("key", "nonsense"): "No such command 'nonsense'",
    ("search", "x", "--k"): "--k",
    (): "No such option: --json",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_usage_is_json_where_json_was_asked_for(
    stack: FakeStack, api: FakeApi, run_json: RunJson, words: tuple[str, ...]
) -> None:
    code, told = run_json(*words)
    assert code == 2
    assert told["error"]["code"] == "usage"
    assert WRONG[words] in told["error"]["detail"]
    assert api.seen == []


@pytest.mark.parametrize("words", [("search",), ("nonsense",), ("nonsense", "--", "--json")])
def test_wrong_usage_is_text_otherwise(
    stack: FakeStack, api: FakeApi, run: Run, words: tuple[str, ...]
) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage:" in result.stderr


def test_the_commands_own_ends_stay_as_they_are(stack: FakeStack, api: FakeApi, run: Run) -> None:
    assert run("--help").exit_code == 0
    assert run("show", "none").exit_code == 1
