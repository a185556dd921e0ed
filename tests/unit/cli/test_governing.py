from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.fake_api import FakeApi, problem
from tests.unit.cli.conftest import FakeStack, Run, RunJson


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    path = tmp_path / "gate.json"
    path.write_text('{"name": "gate", "version": "1.1.0"}')
    return path


# --- keys ---------------------------------------------------------------------------------------


def test_keys_are_listed_with_a_token_that_can_only_look(
    stack: FakeStack, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("key", "list")
    assert (code, [key["keyid"] for key in told["keys"]]) == (0, ["key-1", "key-2"])
    assert stack.minted[0]["scopes"] == ["custody/audit"]
    shown = run("key", "list").stdout
    for word in ("key-1", "ingestion", "ACTIVE", "2026-01-01T00:00:00Z"):
        assert word in shown


@pytest.mark.parametrize(("word", "state"), [("retire", "RETIRED"), ("revoke", "REVOKED")])
def test_a_key_goes_out_of_use(
    stack: FakeStack, api: FakeApi, run: Run, run_json: RunJson, word: str, state: str
) -> None:
    words = ("key", word, "key-1", "--reason", "leaked", "--force", "--tenant", "public")
    code, told = run_json(*words)
    assert (code, told["keyid"], told["state"]) == (0, "key-1", state)
    (sent,) = api.calls("POST", f"/v1/keys/key-1/{word}")
    assert sent.json == {"reason": "leaked", "force": True}
    assert (stack.minted[0]["tenant"], stack.minted[0]["scopes"]) == ("public", ["custody/govern"])
    shown = run(*words)
    assert state in shown.stdout
    assert "next read" in shown.stderr


@pytest.mark.parametrize("word", ["retire", "revoke"])
def test_the_last_key_of_a_purpose_needs_force(
    stack: FakeStack, api: FakeApi, run: Run, word: str
) -> None:
    result = run("key", word, "key-1", "--reason", "r")
    assert result.exit_code == 1
    assert "last-active-key" in result.stderr
    assert "--force" in result.stderr
    assert api.keys["key-1"]["state"] == "ACTIVE"


@pytest.mark.parametrize("word", ["retire", "revoke"])
def test_that_keys_are_the_operators_is_said_before_and_after(
    stack: FakeStack, api: FakeApi, run: Run, word: str
) -> None:
    assert "--tenant public" in run("key", word, "--help").stdout
    assert "tenant public" in run("key", "--help").stdout
    api.scripted.append(problem(403, "not-an-operator"))
    result = run("key", word, "key-1", "--reason", "r")
    assert result.exit_code == 1
    assert "--tenant public" in result.stderr


# --- principals ---------------------------------------------------------------------------------


def test_a_principal_is_cut_from_now_on(
    stack: FakeStack, api: FakeApi, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("principal", "cut", "ann", "--reason", "left")
    assert (code, told) == (0, {"subject": "ann", "not_before": "2026-03-01T12:00:00Z"})
    assert api.seen[-1].json == {"subject": "ann", "reason": "left"}
    assert (stack.minted[0]["subject"], stack.minted[0]["scopes"]) == ("me", ["custody/govern"])
    shown = run("principal", "cut", "ann", "--reason", "left")
    assert "ann: tokens issued before 2026-03-01T12:00:00Z are void" in shown.stdout
    assert "issuer" in shown.stderr


def test_a_principal_is_cut_from_a_time_on(api: FakeApi, stack: FakeStack, run: Run) -> None:
    words = ("--reason", "left", "--not-before", "2026-02-01T00:00:00+01:00", "--subject", "op")
    assert run("principal", "cut", "ann", *words).exit_code == 0
    assert api.seen[-1].json["not_before"] == "2026-02-01T00:00:00+01:00"
    assert stack.minted[0]["subject"] == "op"


# --- sources ------------------------------------------------------------------------------------


def test_a_source_is_quarantined_and_released(
    stack: FakeStack, api: FakeApi, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("source", "quarantine", "notes", "--reason", "bad")
    assert (code, told["state"]) == (0, "QUARANTINED")
    assert api.seen[-1].json == {"reason": "bad"}
    assert "QUARANTINED" in run("source", "quarantine", "notes", "--reason", "bad").stdout
    code, told = run_json("source", "release", "notes")
    assert (code, told["state"]) == (0, "ACTIVE")
    assert api.seen[-1].body == b""
    assert {tuple(asked["scopes"]) for asked in stack.minted} == {("custody/govern",)}


def test_a_source_that_is_not_there_is_1(stack: FakeStack, run_json: RunJson) -> None:
    code, told = run_json("source", "release", "none")
    assert (code, told["error"]["code"]) == (1, "source-not-found")


# --- policies -----------------------------------------------------------------------------------


def test_a_policy_is_signed_put_in_force_and_taken_back(
    stack: FakeStack, api: FakeApi, run: Run, run_json: RunJson, policy_file: Path
) -> None:
    code, first = run_json("policy", "sign", "gate", str(policy_file))
    assert (code, first["version"], first["since"]) == (0, "1.1.0", None)
    assert api.seen[-1].json == {"document": {"name": "gate", "version": "1.1.0"}}
    policy_file.write_text('{"name": "gate", "version": "1.2.0"}')
    shown = run("policy", "sign", "gate", str(policy_file))
    second = api.seen[-1].json["document"]
    (digest,) = [each for each, kept in api.signed.items() if kept["document"] == second]
    assert digest in shown.stdout
    assert f"custody policy activate gate {digest}" in shown.stderr
    for wanted in (first["digest"], digest):
        code, active = run_json("policy", "activate", "gate", wanted)
        assert (code, active["digest"]) == (0, wanted)
    code, active = run_json("policy", "rollback", "gate")
    assert (code, active["digest"]) == (0, first["digest"])
    assert {tuple(asked["scopes"]) for asked in stack.minted} == {("custody/govern",)}
    code, told = run_json("policy", "rollback", "gate")
    assert (code, told["error"]["code"]) == (1, "no-earlier-policy")


def test_a_policy_is_shown_with_a_token_that_can_only_look(
    stack: FakeStack, run: Run, run_json: RunJson, policy_file: Path
) -> None:
    _, signed = run_json("policy", "sign", "gate", str(policy_file))
    run_json("policy", "activate", "gate", signed["digest"])
    stack.minted.clear()
    assert run_json("policy", "show", "gate")[1]["document"]["version"] == "1.1.0"
    shown = run("policy", "show", "gate").stdout
    for word in ("1.1.0", signed["digest"], "tenant", '"name": "gate"'):
        assert word in shown
    code, told = run_json("policy", "show", "gate", "--history")
    assert (code, [change["action"] for change in told["changes"]]) == (
        0, ["activated", "rolled-back"],
    )  # fmt: skip
    shown = run("policy", "show", "gate", "--history").stdout
    for word in ("activated", "ann", signed["digest"], "a deployment", "the service's default"):
        assert word in shown
    assert {tuple(asked["scopes"]) for asked in stack.minted} == {("custody/audit",)}


@pytest.mark.parametrize("content", ["", "{", "[1]", "null", '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_a_file_that_is_no_json_object_is_2_and_nothing_is_sent(
    stack: FakeStack, api: FakeApi, run: Run, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "policy.json"
    path.write_text(content)
    result = run("policy", "sign", "gate", str(path), "--json")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert error["code"] == "usage"
    assert str(path) in error["detail"]
    assert api.seen == []


def test_a_file_that_is_no_text_or_is_not_there_is_2(
    stack: FakeStack, api: FakeApi, run_json: RunJson, tmp_path: Path
) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{}")
    assert run_json("policy", "sign", "gate", str(tmp_path / "bytes"))[0] == 2
    code, told = run_json("policy", "sign", "gate", str(tmp_path / "none"))
    assert (code, told["error"]["code"]) == (2, "no-such-path")
    assert run_json("policy", "sign", "gate", str(tmp_path))[0] == 2
    assert api.seen == []


# --- usage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("key", "retire", "key-1"),
        ("key", "revoke", "key-1", "--reason", " "),
        ("key", "revoke", "a/b", "--reason", "r"),
        ("key", "retire", "..", "--reason", "r"),
        ("key", "list", "--tenant", "Not A Tenant"),
        ("key", "rotate", "key-1"),
        ("principal", "cut", "ann"),
        ("principal", "cut", " ", "--reason", "r"),
        ("principal", "cut", "ann", "--reason", ""),
        ("principal", "cut", "ann", "--reason", "r", "--not-before", "yesterday"),
        ("source", "quarantine", "notes"),
        ("source", "quarantine", "notes", "--reason", " "),
        ("source", "quarantine", "a/b", "--reason", "r"),
        ("source", "release", ".."),
        ("policy", "activate", "gate", "1.0.0"),
        ("policy", "activate", "../keys", "0" * 64),
        ("policy", "rollback", "a/b"),
        ("policy", "show", ".."),
        ("policy", "sign", "gate"),
    ],
)
def test_wrong_usage_is_2_and_asks_nothing(
    stack: FakeStack, api: FakeApi, run: Run, words: tuple[str, ...]
) -> None:
    assert run(*words).exit_code == 2
    assert api.seen == []
    assert stack.minted == []
