"""The main path on an AWS that was there before, and that is as it was afterwards."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from custody_local import clients, elsewhere, emulator, processes, removal
from custody_local.errors import BadEndpoint
from custody_local.progress import Progress
from custody_local.stack import Stack
from tests.support.service import PATIENCE, Person, Service, of

pytestmark = [pytest.mark.slow, pytest.mark.emulator, pytest.mark.timeout(900)]
TENANT = "harbour"
QUESTION = "Who opens the sluice gate?"


def left_of(endpoint: str, name: str) -> list[str]:
    """Everything there that bears the stack's name, keys aside: they have none."""
    aws = clients.session(endpoint)
    listed: list[tuple[str, str, str, str]] = [
        ("cloudformation", "list_stacks", "StackSummaries", "StackName"),
        ("lambda", "list_functions", "Functions", "FunctionName"),
        ("lambda", "list_layers", "Layers", "LayerName"),
        ("logs", "describe_log_groups", "logGroups", "logGroupName"),
        ("iam", "list_roles", "Roles", "RoleName"),
        ("s3", "list_buckets", "Buckets", "Name"),
        ("apigateway", "get_rest_apis", "items", "name"),
        ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    ]
    found: list[str] = []
    for service, operation, rows, field in listed:
        told: list[dict[str, Any]] = getattr(aws.client(service), operation)()[rows]
        found += [
            row[field]
            for row in told
            if name in row[field] and row.get("StackStatus") != "DELETE_COMPLETE"
        ]
    found += aws.client("dynamodb").list_tables()["TableNames"]
    found += aws.client("sqs").list_queues(QueueNamePrefix=name).get("QueueUrls", [])
    return [one for one in found if name in one]


def usable_keys(endpoint: str) -> set[str]:
    client = clients.session(endpoint).client("kms")
    states = {
        key["KeyId"]: client.describe_key(KeyId=key["KeyId"])["KeyMetadata"]["KeyState"]
        for key in client.list_keys()["Keys"]
    }
    return {key for key, state in states.items() if state == "Enabled"}


def test_the_main_path_runs_there_and_nothing_stays_but_the_emulator(
    emulator_url: str, tmp_path: Path
) -> None:
    name = f"elsewhere-{uuid.uuid4().hex[:6]}"
    stack = Stack(tmp_path, progress=Progress(quiet=True))
    keys = usable_keys(emulator_url)
    state = stack.up(endpoint=emulator_url, port=0, stack_name=name)
    service = Service(stack)
    try:
        assert set(state.processes) == {"issuer"}
        assert stack.status().running
        with pytest.raises(BadEndpoint, match=name):
            elsewhere.claim(emulator_url, name)

        service.source(TENANT, "notes")
        person = service.client(
            Person(TENANT, "ana", ("publishers",), scopes=("read", "write", "erase"))
        )
        text = b"The sluice gate is opened by two people, and each of them signs the log."
        version = service.drop(TENANT, "notes", "gate.txt", text, "text/plain")
        document = service.dropped(person, "notes", "gate.txt", version)["document_id"]
        assert of(person.search(QUESTION), document)
        assert of_answer(person.answer(QUESTION), document)
        erased = person.delete_document(document, "it has served")
        assert not of(person.search(QUESTION), document)
        receipt = person.wait_for_erasure(erased["erasure_id"], timeout=PATIENCE)
        assert receipt["state"] == "COMPLETE"
    finally:
        service.close()
        stopped = stack.down()
    assert stopped
    assert not any(processes.alive(process) for process in state.processes.values())
    assert emulator.answers(emulator_url)
    assert left_of(emulator_url, name) == []
    assert usable_keys(emulator_url) <= keys
    removal.remove(clients.session(emulator_url), name)  # where there is nothing


def of_answer(answer: Any, document: str) -> bool:
    return any(item["document_id"] == document for item in answer["evidence"])
