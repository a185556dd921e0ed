"""Traces and signed policies, in memory and on DynamoDB's API."""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import repeat
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from custody.adapters.dynamodb import DynamoPolicies, DynamoTraces, Pacing, connect
from custody.application.ports import PolicyStore, TraceStore
from custody.domain.model import PolicyRef
from custody.errors import IntegrityError, TooLarge, Unavailable
from custody_memory.policies import MemoryPolicies
from custody_memory.traces import MemoryTraces
from tests.support import records
from tests.support.faulty import Fault, Faulty, lost_reply, lost_request, refused
from tests.support.records import NOW
from tests.support.tables import create_table, create_traces

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

TRACE = {"ranks": [1, 2], "score": 0.25, "policy": {"gate": "d1"}, "none": None, "name": "ü"}
SOON = NOW + timedelta(hours=1)
REF = PolicyRef("gate", "1", "d" * 64)


class SetClock:
    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> datetime:
        return self.time


@pytest.fixture(scope="module")
def dynamo(aws_endpoint: str) -> Iterator[tuple[DynamoDBClient, str, str]]:
    client = connect(endpoint_url=aws_endpoint, read_timeout=60)
    mark = uuid.uuid4().hex
    names = (f"policies-{mark}", f"traces-{mark}")
    create_table(client, names[0])
    create_traces(client, names[1])
    yield client, *names
    for name in names:
        client.delete_table(TableName=name)
    client.close()


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(params=["memory", pytest.param("dynamodb", marks=pytest.mark.emulator)])
def traces(request: pytest.FixtureRequest, clock: SetClock) -> TraceStore:
    if request.param == "memory":
        return MemoryTraces(clock)
    client, _, table = request.getfixturevalue("dynamo")
    return DynamoTraces(client, table, clock)


@pytest.fixture(params=["memory", pytest.param("dynamodb", marks=pytest.mark.emulator)])
def policies(request: pytest.FixtureRequest) -> PolicyStore:
    if request.param == "memory":
        return MemoryPolicies()
    client, table, _ = request.getfixturevalue("dynamo")
    return DynamoPolicies(client, table)


@pytest.fixture
def trace_id() -> str:
    return f"trace-{uuid.uuid4().hex}"


def test_a_trace_comes_back_with_its_subject(traces: TraceStore, trace_id: str) -> None:
    traces.put("acme", trace_id, "user:ann", TRACE, expires_at=SOON)
    assert traces.get("acme", trace_id) == ("user:ann", TRACE)
    assert traces.get("globex", trace_id) is None
    assert traces.get("acme", trace_id + "0") is None


def test_a_trace_is_gone_when_it_has_expired(
    traces: TraceStore, trace_id: str, clock: SetClock
) -> None:
    traces.put("acme", trace_id, "user:ann", TRACE, expires_at=SOON)
    clock.time = SOON - timedelta(seconds=1)
    assert traces.get("acme", trace_id) is not None
    clock.time = SOON
    assert traces.get("acme", trace_id) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"bytes"])
def test_what_json_cannot_hold_is_refused(traces: TraceStore, trace_id: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        traces.put("acme", trace_id, "user:ann", {"value": value}, expires_at=SOON)
    assert traces.get("acme", trace_id) is None


def test_a_large_trace_fits(traces: TraceStore, trace_id: str) -> None:
    noise = random.Random(7)
    ids = [base64.b32encode(noise.randbytes(32)).decode() for _ in range(6000)]
    traces.put("acme", trace_id, "user:ann", {"ids": ids}, expires_at=SOON)
    stored = traces.get("acme", trace_id)
    assert stored is not None
    assert stored[1] == {"ids": ids}


@pytest.mark.emulator
def test_a_trace_that_no_item_holds_is_refused(
    dynamo: tuple[DynamoDBClient, str, str], clock: SetClock, trace_id: str
) -> None:
    client, _, table = dynamo
    traces = DynamoTraces(client, table, clock)
    noise = base64.b64encode(random.Random(7).randbytes(600_000)).decode()
    with pytest.raises(TooLarge) as refused_:
        traces.put("acme", trace_id, "user:ann", {"noise": noise}, expires_at=SOON)
    assert refused_.value.code == "item-too-large"


@pytest.mark.emulator
def test_a_trace_carries_the_time_at_which_the_table_drops_it(
    dynamo: tuple[DynamoDBClient, str, str], clock: SetClock, trace_id: str
) -> None:
    client, _, table = dynamo
    DynamoTraces(client, table, clock).put("acme", trace_id, "user:ann", TRACE, expires_at=SOON)
    stored = {item["expires_at"]["N"] for item in client.scan(TableName=table)["Items"]}
    assert str(int(SOON.timestamp())) in stored
    described = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires_at"


def test_whose_trace_it_is_can_be_read_without_its_key(clock: SetClock, trace_id: str) -> None:
    """A user's traces are found by these two: the key is a hash, and a subject is one of a
    tenant's."""
    written: list[dict[str, Any]] = []
    client: Any = SimpleNamespace(put_item=lambda **given: written.append(given["Item"]))
    DynamoTraces(client, "traces", clock).put("acme", trace_id, "user:ann", TRACE, expires_at=SOON)
    assert [(item["tenant"]["S"], item["subject"]["S"]) for item in written] == [
        ("acme", "user:ann")
    ]


@pytest.mark.emulator
@pytest.mark.parametrize("damage", [b"", b"no zlib", b"\x78\x9c\x03"])
def test_a_damaged_trace_is_an_error(
    dynamo: tuple[DynamoDBClient, str, str], clock: SetClock, trace_id: str, damage: bytes
) -> None:
    client, _, table = dynamo
    traces = DynamoTraces(client, table, clock)
    traces.put("acme", trace_id, "user:ann", {"only": trace_id}, expires_at=SOON)
    items = client.scan(TableName=table)["Items"]
    for item in items:
        client.put_item(TableName=table, Item={**item, "trace": {"B": damage}})
    with pytest.raises(IntegrityError) as broken:
        traces.get("acme", trace_id)
    assert broken.value.code == "malformed-item"
    for item in items:
        client.put_item(TableName=table, Item=item)


def test_a_policy_comes_back_by_its_digest(policies: PolicyStore) -> None:
    ref = PolicyRef("gate", "1", uuid.uuid4().hex)
    policies.put(ref, records.envelope("policy"))
    assert policies.get(ref) == records.envelope("policy")
    policies.put(ref, records.envelope("other"))
    assert policies.get(ref) == records.envelope("policy")


def test_a_policy_that_is_not_stored_is_unavailable(policies: PolicyStore) -> None:
    with pytest.raises(Unavailable) as missing:
        policies.get(PolicyRef("gate", "1", uuid.uuid4().hex))
    assert missing.value.code == "policy-unavailable"


@pytest.mark.emulator
@pytest.mark.parametrize("fault", [lost_request, refused("AccessDeniedException")])
def test_tables_that_cannot_answer_have_codes_of_their_own(
    dynamo: tuple[DynamoDBClient, str, str], clock: SetClock, fault: Fault
) -> None:
    client, ledger, table = dynamo
    pacing = Pacing(sleep=lambda _: None)
    methods = ("get_item", "put_item", "update_item")
    faulty: Any = Faulty(client, {method: repeat(fault) for method in methods})
    traces = DynamoTraces(faulty, table, clock, pacing=pacing)
    policies = DynamoPolicies(faulty, ledger, pacing=pacing)
    for call, code in (
        (lambda: traces.get("acme", "t"), "trace-unavailable"),
        (
            lambda: traces.put("acme", "t", "user:ann", TRACE, expires_at=SOON),
            "trace-unavailable",
        ),
        (lambda: policies.get(REF), "policy-unavailable"),
        (lambda: policies.put(REF, records.envelope("p")), "policy-unavailable"),
    ):
        with pytest.raises(Unavailable) as unavailable:
            call()
        assert unavailable.value.code == code


@pytest.mark.emulator
def test_a_policy_whose_reply_was_lost_is_stored(dynamo: tuple[DynamoDBClient, str, str]) -> None:
    client, ledger, _ = dynamo
    faulty: Any = Faulty(client, {"update_item": [lost_reply]})
    ref = PolicyRef("gate", "1", uuid.uuid4().hex)
    policies = DynamoPolicies(faulty, ledger)
    policies.put(ref, records.envelope("policy"))
    assert policies.get(ref) == records.envelope("policy")
