from __future__ import annotations

from typing import Any

import pytest

from custody_cli.errors import from_service
from custody_client import CustodyApiError
from tests.support.fake_api import FakeApi
from tests.unit.cli.conftest import FakeStack, Run, RunJson


@pytest.fixture
def gate(api: FakeApi) -> dict[str, Any]:
    return api._store("gate", "notes", "gate", b"the sluice gate", "Gate")


def test_erase_hides_and_gives_the_receipt_s_id(
    stack: FakeStack, gate: dict[str, Any], api: FakeApi, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("erase", "gate", "--reason", "asked for")
    assert (code, told) == (0, {"erasure_id": "er-1", "document_id": "gate"})
    (sent,) = api.calls("DELETE", "/v1/documents/gate")
    assert sent.json == {"reason": "asked for"}
    assert stack.minted[0]["scopes"] == ["custody/read", "custody/erase"]


def test_erase_waits_until_every_copy_is_gone(
    stack: FakeStack, gate: dict[str, Any], api: FakeApi, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("erase", "gate", "--reason", "r", "--wait")
    assert (code, told["state"]) == (0, "COMPLETE")
    assert len(api.calls("GET", "/v1/erasures/er-1")) == 2


def test_an_erasure_that_does_not_finish_is_1_and_told(
    stack: FakeStack, gate: dict[str, Any], api: FakeApi, run_json: RunJson
) -> None:
    api.never_erased = True
    code, told = run_json("erase", "gate", "--reason", "r", "--wait", "--timeout", "1")
    assert (code, told["state"]) == (1, "PARTIAL")


def test_erasing_what_is_not_there_is_1(stack: FakeStack, api: FakeApi, run_json: RunJson) -> None:
    code, told = run_json("erase", "none", "--reason", "r")
    assert (code, told["error"]["code"]) == (1, "not-found")


@pytest.mark.parametrize(
    "words",
    [
        ("erase", "gate"),
        ("erase", "gate", "--reason", " "),
        ("erase", "a/b", "--reason", "r"),
        ("show", "a\nb"),
        ("show", "a b", "--answer"),
        ("show", "gate", "--tenant", "Not A Tenant"),
        ("show", "gate", "--tenant", ""),
        ("show", "gate", "--subject", ""),
        ("erase", "..", "--reason", "r"),
        ("show",),
        ("show", ".."),
        ("show", "an-1", "--answer", "--version", "2"),
        ("show", "gate", "--version", "0"),
        ("access",),
        ("access", ".."),
        ("access", "gate", "--at", "yesterday"),
    ],
)
def test_wrong_usage_is_2_and_asks_nothing(
    stack: FakeStack, api: FakeApi, run: Run, words: tuple[str, ...]
) -> None:
    assert run(*words).exit_code == 2
    assert api.seen == []


def test_show_has_the_document_and_its_statement(
    stack: FakeStack, gate: dict[str, Any], run: Run, run_json: RunJson
) -> None:
    code, told = run_json("show", "gate")
    assert code == 0
    assert told["document"]["document_id"] == "gate"
    assert told["provenance"]["envelope"]["payloadType"] == "application/vnd.in-toto+json"
    shown = run("show", "gate").stdout
    for word in ("Gate", "key-1", "in-toto.io/Statement", gate["content_sha256"]):
        assert word in shown


def test_access_tells_who_could_have_been_shown_a_document(
    stack: FakeStack, gate: dict[str, Any], api: FakeApi, run: Run, run_json: RunJson
) -> None:
    code, told = run_json("access", "gate", "--at", "2026-03-01T11:30:00Z")
    assert (code, told["at"], told["acl"]) == (
        0, "2026-03-01T11:30:00Z", {"allow": ["tenant:acme"]},
    )  # fmt: skip
    assert api.seen[-1].path.endswith("/documents/gate/access")
    shown = run("access", "gate")
    assert shown.exit_code == 0
    for word in ("tenant:acme", "nobody", "2026-03-01T11:00:00Z", "ann", "st-1", "QUARANTINED"):
        assert word in shown.stdout
    assert run("access", "none").exit_code != 0


def test_show_of_an_answer_is_its_trace(
    stack: FakeStack, gate: dict[str, Any], run: Run, run_json: RunJson
) -> None:
    _, answer = run_json("answer", "sluice")
    code, told = run_json("show", answer["answer_id"], "--answer")
    assert (code, told["answer_id"]) == (0, answer["answer_id"])
    shown = run("show", answer["answer_id"], "--answer")
    assert shown.exit_code == 0
    for word in ("answerable", "PASS", "the sluice gate", "sluice"):
        assert word in shown.stdout


def test_show_of_an_answer_tells_the_words_that_may_still_be_shown(
    stack: FakeStack, gate: dict[str, Any], api: FakeApi, run: Run, run_json: RunJson
) -> None:
    _, answer = run_json("answer", "sluice gate")
    again = {"added_terms": ["heron", None], "score": 0.4, "gain": 0.2, "stop_reason": "no-gain"}
    api.stored_attempts.append(again)
    shown = run("show", answer["answer_id"], "--answer").stdout
    assert "heron, (no longer shown)" in shown
    assert "no-gain" in shown


def test_show_of_what_may_not_be_seen_is_1(stack: FakeStack, api: FakeApi, run: Run) -> None:
    result = run("show", "none")
    assert result.exit_code == 1
    assert "not-found" in result.stderr


@pytest.mark.parametrize(
    ("status", "exit_code"),
    [(400, 1), (401, 1), (404, 1), (409, 1), (422, 1), (429, 1), (500, 2), (502, 2), (503, 2)],
)
def test_a_refusal_is_1_and_a_failure_is_2(status: int, exit_code: int) -> None:
    told = from_service(CustodyApiError(status, "c", None, "d", None))
    assert told is not None
    assert told.exit_code == exit_code
