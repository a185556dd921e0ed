"""The schedule's function: how many went is counted, and what failed fails the run."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from custody.application.erasure.expire_superseded import Expired
from custody.application.failure import Failure
from custody.bootstrap import Service
from custody.bootstrap.environment import EnvironmentLimits
from custody.domain.model import DocumentKey
from custody.errors import ConfigurationError, Unavailable
from custody.settings import Environment
from custody_memory.ports import FixedLimits
from tests.support.functions import event, load
from tests.support.ingest_world import TENANT, WRITER, World, request
from tests.support.records import draft

MONTH = timedelta(days=30)


def run(service: Any) -> Any:
    return load("expire").answering(lambda: service)(event("expire/scheduled"), None)


def metrics(text: str) -> dict[str, Any]:
    (line,) = (json.loads(line) for line in text.splitlines() if '"_aws"' in line)
    return {name: line[name] for name in ("VersionExpired", "ExpiryFailed")}


def test_a_run_lets_go_of_what_is_due_and_counts_it(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.source()
    for text in ("first", "second"):
        world.post_document(WRITER, request(text=text))
    world.clock.sleep(MONTH.total_seconds())
    service = Service(world.ports, FixedLimits(superseded_retention=MONTH))
    assert run(service) == {"expired": 1, "unfinished": False}
    assert metrics(capsys.readouterr().out) == {"VersionExpired": [1.0], "ExpiryFailed": [0.0]}
    record = world.ledger.version(DocumentKey(TENANT, "guide"), 1)
    assert record is not None
    assert record.expired_at is not None
    assert run(service) == {"expired": 0, "unfinished": False}


def test_a_run_with_a_failure_fails_and_names_the_version(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    record = draft(DocumentKey(TENANT, "guide"), version=4, title="A secret title")
    failure = Failure(record, Unavailable("The bucket is away.", code="store-unavailable"))
    service = SimpleNamespace(expire_superseded=lambda: Expired(2, (failure,), unfinished=True))
    with pytest.raises(Unavailable) as caught:
        run(service)
    assert caught.value.code == "expiry-partial"
    assert metrics(capsys.readouterr().out) == {"VersionExpired": [2.0], "ExpiryFailed": [1.0]}
    (told,) = (vars(line) for line in caplog.records if line.message == "version not expired")
    assert {name: told[name] for name in ("tenant", "document_id", "version", "code")} == {
        "tenant": TENANT,
        "document_id": "guide",
        "version": 4,
        "code": "store-unavailable",
    }
    assert "secret" not in str(told)


@pytest.mark.parametrize(("given", "kept"), [("0", None), ("30", MONTH), (None, None)])
def test_days_are_how_long_and_none_is_for_ever(
    monkeypatch: pytest.MonkeyPatch, given: str | None, kept: timedelta | None
) -> None:
    monkeypatch.delenv("CUSTODY_SUPERSEDED_RETENTION_DAYS", raising=False)
    if given is not None:
        monkeypatch.setenv("CUSTODY_SUPERSEDED_RETENTION_DAYS", given)
    assert EnvironmentLimits(Environment()).superseded_retention == kept


@pytest.mark.parametrize("given", ["-1", "1.5", "", "ever"])
def test_days_that_are_no_number_of_days_are_refused(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("CUSTODY_SUPERSEDED_RETENTION_DAYS", given)
    with pytest.raises(ConfigurationError):
        assert EnvironmentLimits(Environment()).superseded_retention
