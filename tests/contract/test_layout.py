"""Tables of another layout: told of at every door, never an empty answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from custody.adapters.dynamodb import DynamoHeads, DynamoLedger, DynamoTrust, DynamoWork, layout
from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.adapters.packaged_policies import packaged_policies
from custody.adapters.sqlite_index import SqliteIndex
from custody.application.governance.deploy_policies import DeployPolicies
from custody.application.health import Pinged, State
from custody.domain.model import DocumentKey, SourceKey
from custody.errors import NoControlItem, Unavailable
from custody_memory.objects import MemoryObjects
from custody_memory.policies import MemoryPolicies
from tests.architecture.template_facts import of_type
from tests.support import records
from tests.support.faulty import Faulty
from tests.support.functions import event, load
from tests.support.ingest_world import FakeClock, WorldOn
from tests.support.signed_evidence import signer
from tests.support.tables import PARTS, create_ledger, ledger_on, table

KEY = DocumentKey("acme", "guide")
WIKI = SourceKey("acme", "wiki")
EARLIER = '{"keys":{},"policies":{},"epoch":3}'
"""The control item of a version that knew no layouts."""


@pytest.fixture
def client(aws_credentials: None) -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        create_ledger(client, "custody")
        yield client


@pytest.fixture
def ledger(client: Any) -> DynamoLedger:
    return ledger_on(client, "custody")


def put(client: Any, part: str, key: layout.Key, body: str) -> None:
    client.put_item(
        TableName=f"custody-{part}",
        Item={
            "pk": {"S": key.pk},
            "sk": {"S": key.sk},
            "body": {"S": body},
            "rev": {"N": "1"},
            "tok": {"S": "t"},
        },
    )


def one_table(client: Any) -> None:
    """What is left of a stack whose ledger was one table: its control items and its heads."""
    for copy in range(layout.CONTROL_COPIES):
        put(client, "ledger", layout.service(copy), EARLIER)
    sound = ledger_on(client, "custody")
    sound.accept(records.draft(KEY), expected_revision=0)


def deployment(ledger: DynamoLedger) -> DeployPolicies:
    return DeployPolicies(
        ledger=ledger,
        policies=MemoryPolicies(),
        ingestion=signer(),
        policy=signer("policy"),
        index=signer("index"),
        verifier=EcdsaVerifier(),
        packaged=packaged_policies(),
        clock=FakeClock(),
    )


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(Unavailable) as unavailable:
        call()
    assert unavailable.value.status == 503
    return unavailable.value.code


def reads(ledger: DynamoLedger) -> list[Callable[[], object]]:
    return [
        lambda: ledger.view("acme", "ann", [KEY], [WIKI]),
        lambda: ledger.trust_view("acme", "ann"),
        lambda: ledger.control("acme"),
        ledger.ping,
    ]


def stored(client: Any, part: str) -> list[str]:
    items = client.scan(TableName=f"custody-{part}")["Items"]
    return sorted(item["sk"]["S"] for item in items)


def test_a_deployment_marks_each_table(client: Any, ledger: DynamoLedger) -> None:
    deployment(ledger)()
    control = ledger_on(client, "custody")._trust.get(layout.service(0))
    assert control is not None
    assert json.loads(control["body"]["S"])["layout"] == layout.LAYOUT
    for part in ("ledger", "work"):
        assert stored(client, part) == ["LAYOUT"]
    for read in reads(ledger):
        read()


def test_a_second_deployment_changes_nothing(client: Any, ledger: DynamoLedger) -> None:
    deployment(ledger)()
    before = [client.scan(TableName=f"custody-{part}")["Items"] for part in PARTS]
    ledger.mark_layout()
    assert [client.scan(TableName=f"custody-{part}")["Items"] for part in PARTS] == before


def test_a_stack_of_one_table_is_outdated_and_each_reader_says_so(
    client: Any, ledger: DynamoLedger
) -> None:
    one_table(client)
    heads = client.scan(TableName="custody-ledger")["Items"]
    for read in reads(ledger)[:3]:  # before a deployment has looked
        assert code_of(read) == "policy-unavailable"
    deploy = deployment(ledger)
    for _ in range(2):
        assert code_of(deploy) == "layout-outdated"
        for read in reads(ledger):
            assert code_of(read) == "layout-outdated"
    assert set(stored(client, "trust")) == {"CONTROL"}
    assert client.scan(TableName="custody-ledger")["Items"] == heads


def test_what_to_do_is_told(client: Any, ledger: DynamoLedger) -> None:
    one_table(client)
    with pytest.raises(Unavailable) as outdated:
        ledger.mark_layout()
    assert "new stack" in outdated.value.detail
    assert "ingest again" in outdated.value.detail


@pytest.mark.parametrize("body", [EARLIER, '{"epoch":3,"layout":2}', "{}"])
def test_a_control_item_of_another_layout_is_no_answer_and_is_not_changed(
    client: Any, ledger: DynamoLedger, body: str
) -> None:
    for copy in range(layout.CONTROL_COPIES):
        put(client, "trust", layout.service(copy), body)
    for read in reads(ledger):
        assert code_of(read) == "layout-outdated"
    assert code_of(lambda: ledger.put_key(records.key())) == "layout-outdated"
    assert code_of(deployment(ledger)) == "layout-outdated"
    item = ledger._trust.get(layout.service(0))
    assert item is not None
    assert item["body"]["S"] == body
    assert stored(client, "work") == []


@pytest.mark.parametrize("part", ["ledger", "work"])
def test_a_mark_of_another_layout_stops_a_deployment(
    client: Any, ledger: DynamoLedger, part: str
) -> None:
    put(client, part, layout.mark(), '{"layout":2}')
    assert code_of(deployment(ledger)) == "layout-outdated"
    assert code_of(lambda: ledger.control("acme")) == "layout-outdated"


def test_health_says_which_table_is_outdated_or_was_never_marked(
    client: Any, ledger: DynamoLedger
) -> None:
    parts: list[Pinged] = [
        DynamoTrust(ledger._trust, lambda: ledger._revocations),
        DynamoHeads(ledger._trust, lambda: ledger._revocations, ledger._ledger),
        DynamoWork(ledger._work),
    ]
    for part in parts:
        with pytest.raises(NoControlItem):
            part.ping()
    deployment(ledger)()
    for part in parts:
        part.ping()
    put(client, "work", layout.mark(), '{"layout":2}')
    parts[0].ping()
    parts[1].ping()
    assert code_of(parts[2].ping) == "layout-outdated"


@pytest.mark.parametrize("after", [False, True])
def test_a_deployment_that_breaks_off_is_finished_by_the_next(
    client: Any, ledger: DynamoLedger, after: bool
) -> None:
    """Before the marks, and between them and the first control item."""

    class Killed(Exception):
        pass

    def kill(call: Any, arguments: dict[str, Any]) -> Any:
        if after:
            call(**arguments)
        raise Killed

    faulty = Faulty(client, {"transact_write_items": [kill]})
    with pytest.raises(Killed):
        deployment(ledger_on(faulty, "custody"))()  # type: ignore[arg-type]  # stands for the client
    assert stored(client, "trust") == []
    assert stored(client, "work") == (["LAYOUT"] if after else [])
    for read in reads(ledger):
        assert code_of(read) == "policy-unavailable"
    deployment(ledger)()
    for read in reads(ledger):
        read()


def test_two_deployments_at_once_both_succeed(client: Any, ledger: DynamoLedger) -> None:
    other = ledger_on(client, "custody")

    def overtaken(call: Any, arguments: dict[str, Any]) -> Any:
        other.mark_layout()
        return call(**arguments)

    faulty = Faulty(client, {"transact_write_items": [overtaken]})
    ledger_on(faulty, "custody").mark_layout()  # type: ignore[arg-type]  # stands for the client
    assert stored(client, "work") == ["LAYOUT"]


DOORS = {
    "documents": "documents/list",
    "govern": "govern/list-sources",
    "query": "query/search",
    "erase": "erase/erasure",
}


@pytest.mark.parametrize("function", DOORS)
def test_a_caller_is_answered_503_and_never_nothing(
    client: Any, ledger: DynamoLedger, function: str, tmp_path: Path
) -> None:
    world = WorldOn(ledger, MemoryObjects(FakeClock()), SqliteIndex(str(tmp_path / "index")))
    for copy in range(layout.CONTROL_COPIES):
        put(client, "trust", layout.service(copy), EARLIER)
    reply = load(function).api.handler(lambda: world.service)(event(DOORS[function]), None)
    problem = json.loads(reply["body"])
    assert (reply["statusCode"], problem["code"]) == (503, "layout-outdated")
    assert world.service.health().dependencies["trust"] is State.UNAVAILABLE


def test_a_deployment_is_run_again_for_another_layout() -> None:
    """CloudFormation runs it only where a property of it changes."""
    (asked,) = of_type("Custom::CustodyBootstrap").values()
    assert asked["Layout"] == layout.LAYOUT


def test_a_table_that_was_never_made_is_no_empty_one(client: Any) -> None:
    trust, revocations, ledger, work = (table(client, f"none-{part}") for part in PARTS)
    for read in reads(DynamoLedger(trust, lambda: revocations, ledger, work)):
        assert code_of(read) == "ledger-unavailable"
