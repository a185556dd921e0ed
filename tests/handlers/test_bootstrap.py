from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.adapters.packaged_policies import packaged_policies
from custody.application.governance.deploy_policies import DeployPolicies
from custody.errors import BadRequest, Unavailable
from custody_memory.ledger import MemoryLedger
from custody_memory.policies import MemoryPolicies
from tests.support.functions import event, load
from tests.support.ingest_world import FakeClock
from tests.support.signed_evidence import signer

CONTEXT = SimpleNamespace(log_stream_name="2026/03/01/[$LATEST]abc")


@dataclass
class Desk:
    """Where CloudFormation takes the answers."""

    url: str
    answers: list[dict[str, Any]] = field(default_factory=list)
    content_types: list[str | None] = field(default_factory=list)
    status: int = 200


@pytest.fixture
def desk() -> Iterator[Desk]:
    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.answers.append(json.loads(body))
            taken.content_types.append(self.headers["Content-Type"])
            self.send_response(taken.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        taken = Desk(f"http://127.0.0.1:{server.server_port}/answer?X-Amz-Signature=0")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield taken
        server.shutdown()
        thread.join()


@pytest.fixture
def deploy() -> DeployPolicies:
    return DeployPolicies(
        ledger=MemoryLedger(),
        policies=MemoryPolicies(),
        ingestion=signer(),
        policy=signer("policy"),
        index=signer("index"),
        verifier=EcdsaVerifier(),
        packaged=packaged_policies(),
        clock=FakeClock(),
    )


def answering(deploy: Callable[[], Any]) -> Any:
    return load("bootstrap").answering(lambda: SimpleNamespace(deploy_policies=deploy))


def test_create_then_update_registers_and_signs_once_and_answers_each_time(
    deploy: DeployPolicies, desk: Desk
) -> None:
    handler = answering(deploy)
    for name in ("create", "update"):
        handler({**event(f"bootstrap/{name}"), "ResponseURL": desk.url}, CONTEXT)
    created, updated = desk.answers
    assert created["Status"] == updated["Status"] == "SUCCESS"
    assert created["PhysicalResourceId"] == updated["PhysicalResourceId"] == "custody-bootstrap"
    sent = event("bootstrap/create")
    assert {name: created[name] for name in ("StackId", "RequestId", "LogicalResourceId")} == {
        name: sent[name] for name in ("StackId", "RequestId", "LogicalResourceId")
    }
    assert created["Data"]["Signed"] == "reputation,gate"
    assert created["Data"]["Policies"] == "reputation=1.0.0,gate=1.0.0"
    assert updated["Data"]["Signed"] == ""
    assert set(deploy.ledger.control("acme").policies) == {"reputation", "gate"}
    assert desk.content_types == ["", ""]


def test_delete_is_answered_and_touches_nothing(desk: Desk) -> None:
    def never() -> None:
        pytest.fail("a deletion must not deploy")

    handler = answering(never)
    handler({**event("bootstrap/delete"), "ResponseURL": desk.url}, CONTEXT)
    (answer,) = desk.answers
    assert answer["Status"] == "SUCCESS"


def test_a_failure_is_answered_with_its_code(desk: Desk) -> None:
    def unreachable() -> None:
        raise Unavailable("The signing key can't be used.", code="signer-unavailable")

    handler = answering(unreachable)
    handler({**event("bootstrap/create"), "ResponseURL": desk.url}, CONTEXT)
    (answer,) = desk.answers
    assert answer["Status"] == "FAILED"
    assert answer["Reason"].startswith("signer-unavailable: The signing key can't be used.")
    assert CONTEXT.log_stream_name in answer["Reason"]


def test_an_unforeseen_failure_is_answered_without_its_text(desk: Desk) -> None:
    def broken() -> None:
        raise RuntimeError("secret detail")

    handler = answering(broken)
    handler({**event("bootstrap/create"), "ResponseURL": desk.url}, CONTEXT)
    (answer,) = desk.answers
    assert answer["Status"] == "FAILED"
    assert "internal: RuntimeError" in answer["Reason"]
    assert "secret" not in json.dumps(answer)


def test_an_unknown_request_is_answered_as_a_failure(deploy: DeployPolicies, desk: Desk) -> None:
    handler = answering(deploy)
    handler({**event("bootstrap/unknown-request"), "ResponseURL": desk.url}, CONTEXT)
    assert desk.answers[0]["Status"] == "FAILED"


def test_an_answer_that_can_not_be_given_is_an_error_so_that_it_is_tried_again(
    deploy: DeployPolicies, desk: Desk
) -> None:
    desk.status = 403
    handler = answering(deploy)
    with pytest.raises(OSError, match="403"):
        handler({**event("bootstrap/create"), "ResponseURL": desk.url}, CONTEXT)


def test_an_address_that_is_not_http_is_refused(deploy: DeployPolicies) -> None:
    handler = answering(deploy)
    with pytest.raises(BadRequest):
        handler({**event("bootstrap/create"), "ResponseURL": "file:///etc/x"}, CONTEXT)


def test_it_runs_without_cloudformation_too(deploy: DeployPolicies) -> None:
    handler = answering(deploy)
    assert handler(event("bootstrap/direct"), CONTEXT)["Signed"] == "reputation,gate"
    with pytest.raises(BadRequest):
        handler(event("bootstrap/unknown-request"), CONTEXT)
