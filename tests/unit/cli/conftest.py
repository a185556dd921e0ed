"""The command against a fake API and a fake local stack."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner, Result

from custody_cli.local import LocalExpiry, LocalStatus
from custody_cli.main import app
from custody_cli.wiring import Wiring
from tests.support.fake_api import BUCKET, FakeApi

STOPPED = LocalStatus(running=False)
NOTHING_DUE = LocalExpiry(expired=0, unfinished=False)
STARTED = LocalStatus(running=True, api_url="http://127.0.0.1:1/v1")


class Run(Protocol):
    def __call__(self, *words: str) -> Result: ...


class RunJson(Protocol):
    def __call__(self, *words: str) -> tuple[int, Any]: ...


@dataclass
class FakeStack:
    """Stands where the stack of this machine would; ``minted`` keeps what tokens were asked."""

    found: LocalStatus = STOPPED
    started: LocalStatus = STARTED
    minted: list[dict[str, Any]] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    raises: Exception | None = None
    expiry: LocalExpiry = NOTHING_DUE

    def up(
        self,
        *,
        index: str,
        model: str,
        endpoint: str | None,
        port: int | None,
        opensearch_port: int | None,
        superseded_retention_days: int,
    ) -> LocalStatus:
        if self.raises is not None:
            raise self.raises
        self.asked = {"index": index, "model": model, "endpoint": endpoint, "port": port}
        self.asked["superseded_retention_days"] = superseded_retention_days
        self.found = self.started
        return self.started

    def down(self) -> bool:
        was, self.found = self.found.running, LocalStatus(running=False)
        return was

    def status(self) -> LocalStatus:
        return self.found

    def expire(self) -> LocalExpiry:
        return self.expiry

    def token(
        self, *, tenant: str, subject: str, groups: Collection[str], scopes: Collection[str]
    ) -> str:
        self.minted.append(
            {"tenant": tenant, "subject": subject, "groups": [*groups], "scopes": [*scopes]}
        )
        return f"token-{tenant}-{subject}"


@pytest.fixture(autouse=True)
def _no_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_URL", "TOKEN", "BUCKET", "TENANT", "SUBJECT", "GROUPS", "MODEL"):
        monkeypatch.delenv(f"CUSTODY_{name}", raising=False)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        server.sources["notes"] = {"source_id": "notes", "trust_domain": "d", "writers": []}
        yield server


@pytest.fixture
def no_stack() -> FakeStack:
    return FakeStack()


@pytest.fixture
def stack(no_stack: FakeStack, api: FakeApi) -> FakeStack:
    no_stack.found = LocalStatus(
        running=True,
        api_url=api.url,
        index="embedded",
        bucket=BUCKET,
        endpoint_url=api.origin,
        region="us-east-1",
    )
    return no_stack


@pytest.fixture
def run(no_stack: FakeStack) -> Run:
    def invoke(*words: str) -> Result:
        return CliRunner().invoke(app, list(words), obj=Wiring(local_stack=lambda: no_stack))

    return invoke


@pytest.fixture
def run_json(run: Run) -> RunJson:
    """Exit code and the one JSON document on stdout."""

    def invoke(*words: str) -> tuple[int, Any]:
        result = run(*words, "--json")
        return result.exit_code, json.loads(result.stdout)

    return invoke
