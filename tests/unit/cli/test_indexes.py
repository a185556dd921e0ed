"""index: rebuild, list, drop."""

from __future__ import annotations

import pytest

from custody_cli.commands import indexes
from tests.support.fake_api import FakeApi
from tests.unit.cli.conftest import FakeStack, Run, RunJson


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "LOOK_AGAIN_SECONDS", 0.0)


def test_a_rebuild_is_begun_and_told(
    stack: FakeStack, api: FakeApi, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("index", "rebuild")
    assert (code, [build["state"] for build in told["indices"]]) == (0, ["BUILDING", "BUILDING"])
    (sent,) = api.calls("POST", "/v1/indexes/rebuild")
    assert sent.json == {"model": "own"}
    assert stack.minted[0]["scopes"] == ["custody/govern"]
    shown = run("index", "rebuild", "--model", "other").stdout
    for word in ("ib-1", "BUILDING (copy)", "minilm-1"):
        assert word in shown
    assert api.calls("POST", "/v1/indexes/rebuild")[-1].json == {"model": "other"}


def test_wait_ends_when_all_that_it_began_are_served(
    stack: FakeStack, api: FakeApi, run_json: RunJson
) -> None:
    code, told = run_json("index", "rebuild", "--wait")
    assert code == 0
    assert [(build["build_id"], build["state"]) for build in told["indices"]] == [
        ("ib-1", "SERVED"), ("ib-2", "SERVED"),
    ]  # fmt: skip
    assert len(api.calls("GET", "/v1/indexes")) == 3


def test_wait_says_no_where_one_was_given_up(
    stack: FakeStack, api: FakeApi, run_json: RunJson
) -> None:
    api.built_as = "ABANDONED"
    code, told = run_json("index", "rebuild", "--wait")
    assert (code, {build["state"] for build in told["indices"]}) == (1, {"ABANDONED"})


def test_where_there_is_nothing_to_index_nothing_is_missing(
    stack: FakeStack, api: FakeApi, run_json: RunJson
) -> None:
    api.built_as, api.given_up_for = "ABANDONED", "nothing-to-index"
    code, told = run_json("index", "rebuild", "--wait")
    assert (code, {build["state"] for build in told["indices"]}) == (0, {"ABANDONED"})


def test_wait_says_no_where_the_time_is_up(
    stack: FakeStack, api: FakeApi, run_json: RunJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("custody_cli.commands.indexes.time.monotonic", clock.__next__)
    code, told = run_json("index", "rebuild", "--wait", "--timeout", "5")
    assert (code, {build["state"] for build in told["indices"]}) == (1, {"BUILDING"})


def test_indices_are_listed_with_a_token_that_can_only_look(
    stack: FakeStack, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("index", "list")
    assert (code, [build["build_id"] for build in told["indices"]]) == (0, ["ib-0", "ib-1", "ib-2"])
    assert stack.minted[0]["scopes"] == ["custody/audit"]
    assert "RETIRING" in run("index", "list").stdout


def test_an_index_is_given_up(stack: FakeStack, api: FakeApi, run: Run, run_json: RunJson) -> None:
    code, told = run_json("index", "drop", "ib-1")
    assert (code, told["state"]) == (0, "ABANDONED")
    assert "ABANDONED" in run("index", "drop", "ib-1").stdout
    missing = run("index", "drop", "ib-9")
    assert missing.exit_code == 1
    assert "index-not-found" in missing.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("index",),
        ("index", "rebuild", "--model", "best"),
        ("index", "rebuild", "--wait", "--timeout", "0"),
        ("index", "drop"),
        ("index", "drop", ".."),
        ("index", "drop", "a/b"),
    ],
)
def test_wrong_usage_asks_nothing(
    stack: FakeStack, api: FakeApi, run: Run, words: tuple[str, ...]
) -> None:
    assert run(*words).exit_code == 2
    assert api.seen == []
