from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from custody_cli.local import LocalExpiry, LocalStatus
from custody_cli.main import app
from custody_local import endpoints
from custody_local.errors import BadEndpoint, LocalStackError, PortTaken
from tests.support.fake_api import FakeApi
from tests.unit.cli.conftest import FakeStack, Run, RunJson


def test_up_starts_what_was_asked_for_and_tells_where_it_is(
    no_stack: FakeStack, run_json: RunJson
) -> None:
    code, told = run_json("up", "--index", "opensearch", "--port", "0")
    assert code == 0
    assert told["running"] is True
    assert told["api_url"] == "http://127.0.0.1:1/v1"
    assert no_stack.asked == {
        "index": "opensearch",
        "model": "minilm",
        "endpoint": None,
        "port": 0,
        "superseded_retention_days": 0,
    }


def test_up_says_how_long_superseded_versions_are_kept(
    no_stack: FakeStack, run: Run, run_json: RunJson
) -> None:
    assert run_json("up", "--superseded-retention-days", "30")[0] == 0
    assert no_stack.asked["superseded_retention_days"] == 30
    assert run("up", "--superseded-retention-days", "-1").exit_code == 2


def test_expire_says_how_many_versions_were_let_go(
    stack: FakeStack, run: Run, run_json: RunJson
) -> None:
    stack.expiry = LocalExpiry(expired=7, unfinished=True)
    assert run_json("expire") == (0, {"expired": 7, "unfinished": True})
    told = run("expire")
    assert "7" in told.stderr
    assert "run it again" in told.stderr
    stack.expiry = LocalExpiry(expired=7, unfinished=False)
    assert "run it again" not in run("expire").stderr


def test_expire_needs_a_stack(no_stack: FakeStack, run: Run) -> None:
    result = run("expire")
    assert result.exit_code == 2
    assert "custody up" in result.stderr


def test_up_goes_to_the_endpoint_that_is_named(no_stack: FakeStack, run_json: RunJson) -> None:
    assert run_json("up", "--endpoint", "http://127.0.0.1:4566")[0] == 0
    assert no_stack.asked["endpoint"] == "http://127.0.0.1:4566"


def test_a_bad_endpoint_has_a_code_of_its_own(no_stack: FakeStack, run_json: RunJson) -> None:
    no_stack.raises = BadEndpoint("endpoint-unreachable", "Nothing answers there.")
    told = {"code": "endpoint-unreachable", "detail": "Nothing answers there."}
    assert run_json("up", "--endpoint", "http://127.0.0.1:1") == (2, {"error": told})


@pytest.mark.parametrize(
    ("words", "environment", "code"),
    [
        (("--endpoint", "https://sts.amazonaws.com"), {}, "endpoint-is-aws"),
        ((), {"AWS_ENDPOINT_URL": "https://sqs.eu-west-1.amazonaws.com"}, "endpoint-is-aws"),
        (("--endpoint", "here"), {}, "endpoint-invalid"),
        (("--endpoint", "http://127.0.0.1:4566", "--port", "4577"), {}, "usage"),
        (("--port", "4577"), {"LOCALSTACK_HOST": "127.0.0.1"}, "usage"),
    ],
)
def test_this_machines_stack_is_not_even_asked_about_an_endpoint_that_can_not_be(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    environment: dict[str, str],
    code: str,
) -> None:
    for name in endpoints.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "stack"
    monkeypatch.setenv("CUSTODY_STACK_DIR", str(folder))
    result = CliRunner().invoke(app, ["up", *words, "--json"])
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == code
    assert not folder.exists()


def test_up_says_what_to_do_about_a_taken_port(no_stack: FakeStack, run: Run) -> None:
    no_stack.raises = PortTaken(4566, "the local AWS", "--port")
    result = run("up")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Port 4566" in result.stderr
    assert "--port 0" in result.stderr


def test_an_error_in_json_mode_is_json_on_stdout(no_stack: FakeStack, run_json: RunJson) -> None:
    no_stack.raises = LocalStackError("No make here.")
    code, told = run_json("up")
    assert (code, told) == (2, {"error": {"code": "local-stack", "detail": "No make here."}})


def test_status_has_what_scripts_read(stack: FakeStack, api: FakeApi, run_json: RunJson) -> None:
    code, told = run_json("status")
    assert code == 0
    assert {"api_url", "index", "opensearch_url", "bucket"} <= told.keys()
    assert told["api_url"] == api.url
    assert told["opensearch_url"] is None


def test_status_without_a_stack_is_a_no(no_stack: FakeStack, run: Run, run_json: RunJson) -> None:
    code, told = run_json("status")
    assert (code, told["running"]) == (1, False)
    result = run("status")
    assert result.exit_code == 1
    assert "custody up" in result.stderr


def test_status_names_the_dead_part(no_stack: FakeStack, run: Run) -> None:
    no_stack.found = LocalStatus(running=False, problems=("the token issuer does not answer",))
    assert "the token issuer does not answer" in run("status").stderr


def test_down_says_whether_anything_ran(stack: FakeStack, run_json: RunJson) -> None:
    assert run_json("down") == (0, {"stopped": True})
    assert run_json("down") == (0, {"stopped": False})


def test_token_prints_the_token_alone(stack: FakeStack, run: Run) -> None:
    result = run(
        "token", "--tenant", "acme", "--subject", "ana", "--groups", "eng,ops",
        "--scopes", "custody/read custody/write",
    )  # fmt: skip
    assert result.exit_code == 0
    assert result.stdout == "token-acme-ana\n"
    assert stack.minted == [
        {
            "tenant": "acme",
            "subject": "ana",
            "groups": ["eng", "ops"],
            "scopes": ["custody/read", "custody/write"],
        }
    ]


@pytest.mark.parametrize("words", [(), ("--tenant", "acme"), ("--subject", "ana")])
def test_token_needs_a_tenant_and_a_subject(
    stack: FakeStack, run: Run, words: tuple[str, ...]
) -> None:
    result = run("token", *words)
    assert result.exit_code == 2
    assert stack.minted == []


@pytest.mark.parametrize(("tenant", "subject"), [("Acme!", "ana"), ("a", "ana"), ("acme", "")])
def test_no_token_is_minted_that_the_service_would_only_call_not_good(
    stack: FakeStack, run: Run, tenant: str, subject: str
) -> None:
    result = run("token", "--tenant", tenant, "--subject", subject)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "tenant" in result.stderr or "subject" in result.stderr
    assert stack.minted == []


def test_an_unknown_scope_is_refused(stack: FakeStack, run: Run) -> None:
    result = run("token", "--tenant", "acme", "--subject", "b", "--scopes", "custody/everything")
    assert result.exit_code == 2
    assert "custody/override" in result.stderr
    assert stack.minted == []


def test_token_without_a_stack_says_how_to_start_one(no_stack: FakeStack, run: Run) -> None:
    result = run("token", "--tenant", "acme", "--subject", "b")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "custody up" in result.stderr


@pytest.mark.parametrize(
    "words",
    [("up", "--index", "elastic"), ("up", "--port", "70000"), ("dance",), ("status", "--no-such")],
)
def test_wrong_usage_is_2(no_stack: FakeStack, run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2
