"""The local stack ends up with what the template states, though the emulator skips some of it."""

from __future__ import annotations

from typing import Any

import pytest

from custody_local import clients, template, workers
from custody_local.paths import ROOT
from custody_local.stack import Stack
from custody_local.state import State

pytestmark = [pytest.mark.slow, pytest.mark.emulator, pytest.mark.timeout(600)]
DOCUMENT = template.load(ROOT / "template.yaml")


@pytest.fixture
def state(local_stack: Stack) -> State:
    found = local_stack.status().state
    assert found is not None
    return found


def client(state: State, service: Any) -> Any:
    return clients.session(state.endpoint_url).client(service)


@pytest.mark.parametrize("name", template.resources(DOCUMENT, "AWS::DynamoDB::Table"))
def test_a_table_expires_recovers_and_encrypts_as_the_template_says(
    state: State, name: str
) -> None:
    wanted = template.resources(DOCUMENT, "AWS::DynamoDB::Table")[name]
    table = state.outputs[f"{name}Name"]
    tables = client(state, "dynamodb")
    ttl = tables.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    stated = wanted.get("TimeToLiveSpecification", {})
    assert ttl.get("AttributeName") == stated.get("AttributeName")
    backups = tables.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    assert (recovery == "ENABLED") is ("PointInTimeRecoverySpecification" in wanted)
    assert tables.describe_table(TableName=table)["Table"]["SSEDescription"]["Status"] == "ENABLED"


def test_the_bucket_encrypts_and_forgets_as_the_template_says(state: State) -> None:
    [wanted] = template.resources(DOCUMENT, "AWS::S3::Bucket").values()
    buckets = client(state, "s3")
    told = buckets.get_bucket_encryption(Bucket=state.bucket)
    [rule] = told["ServerSideEncryptionConfiguration"]["Rules"]
    assert rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    rules = buckets.get_bucket_lifecycle_configuration(Bucket=state.bucket)["Rules"]
    assert {r["ID"] for r in rules} == {r["Id"] for r in wanted["LifecycleConfiguration"]["Rules"]}


def test_no_bucket_policy_refuses_the_loopback_address(state: State) -> None:
    buckets = client(state, "s3")
    try:
        policy = buckets.get_bucket_policy(Bucket=state.bucket)["Policy"]
    except buckets.exceptions.ClientError as error:
        policy = error.response["Error"]["Code"]
    assert policy == "NoSuchBucketPolicy" or "aws:SecureTransport" not in policy


def test_a_queues_function_gets_no_more_workers_than_this_machine_runs(state: State) -> None:
    mappings = client(state, "lambda").list_event_source_mappings()["EventSourceMappings"]
    most = {told["ScalingConfig"]["MaximumConcurrency"] for told in mappings}
    assert mappings
    assert max(most) <= workers.here()
