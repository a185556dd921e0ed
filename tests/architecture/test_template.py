"""What the template must hold, whatever is added to it. Some of this the local AWS accepts when
broken, so that only a test of the text finds it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from custody.adapters.parsers import isolation
from custody.adapters.parsers.limits import Limits
from custody.application.evidence_files import PART_CHUNKS
from custody.errors import CustodyError
from custody.http.problem import PROBLEM_TYPE, problem
from tests.architecture.template_facts import (
    Properties,
    as_list,
    document,
    functions,
    mappings,
    of_type,
    referenced,
    statements,
    variables,
)

QUEUES = of_type("AWS::SQS::Queue")
FUNCTIONS = functions()
NAME_PROPERTIES = {
    "AWS::Serverless::Function": "FunctionName",
    "AWS::Serverless::LayerVersion": "LayerName",
    "AWS::Serverless::Api": "Name",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::Events::Rule": "Name",
}


def queue_sources() -> list[tuple[str, Properties, Properties]]:
    return [(name, FUNCTIONS[name], mapping) for name, mapping in mappings().items()]


def dead_letter_queues() -> set[str]:
    return {
        referenced(queue["RedrivePolicy"]["deadLetterTargetArn"])
        for queue in QUEUES.values()
        if "RedrivePolicy" in queue
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, resource["Type"])
        for name, resource in document()["Resources"].items()
        if resource["Type"] in NAME_PROPERTIES
    ],
)
def test_every_name_carries_the_stacks_name(name: str, kind: str) -> None:
    # A second stack that names an existing table would take it over.
    told = json.dumps(document()["Resources"][name]["Properties"].get(NAME_PROPERTIES[kind]))
    assert "${AWS::StackName}" in told


@pytest.mark.parametrize(
    ("function", "properties", "event"), queue_sources(), ids=[n for n, *_ in queue_sources()]
)
def test_a_queue_hides_a_message_six_times_as_long_as_its_function_may_run(
    function: str, properties: Properties, event: Properties
) -> None:
    queue = QUEUES[referenced(event["EventSourceArn"])]
    assert queue["VisibilityTimeout"] >= 6 * properties["Timeout"], function


@pytest.mark.parametrize(
    ("function", "properties", "event"), queue_sources(), ids=[n for n, *_ in queue_sources()]
)
def test_a_batch_reports_its_failures_one_by_one(
    function: str, properties: Properties, event: Properties
) -> None:
    assert event["FunctionResponseTypes"] == ["ReportBatchItemFailures"], function


@pytest.mark.parametrize("name", [n for n in QUEUES if n not in dead_letter_queues()])
def test_every_working_queue_has_a_consumer_and_a_dead_letter_queue(name: str) -> None:
    redrive = QUEUES[name]["RedrivePolicy"]
    target = QUEUES[referenced(redrive["deadLetterTargetArn"])]
    assert redrive["maxReceiveCount"] >= 3
    assert target["MessageRetentionPeriod"] == 14 * 24 * 3600
    assert name in {referenced(event["EventSourceArn"]) for _, _, event in queue_sources()}


@pytest.mark.parametrize("name", sorted(dead_letter_queues()))
def test_a_dead_letter_raises_an_alarm(name: str) -> None:
    watched = [
        alarm
        for alarm in of_type("AWS::CloudWatch::Alarm").values()
        if alarm.get("MetricName") == "ApproximateNumberOfMessagesVisible"
        and any(
            isinstance(d["Value"], dict) and referenced(d["Value"]) == name
            for d in alarm["Dimensions"]
        )
    ]
    assert len(watched) == 1
    assert watched[0]["Threshold"] == 0


@pytest.mark.parametrize("name", QUEUES)
def test_queues_are_encrypted_and_unordered(name: str) -> None:
    queue = QUEUES[name]
    assert queue.get("SqsManagedSseEnabled") is True or "KmsMasterKeyId" in queue
    # S3 can't notify a FIFO queue; the local AWS accepts one.
    assert not queue.get("FifoQueue")


@pytest.mark.parametrize("name", of_type("AWS::DynamoDB::Table"))
def test_tables_are_encrypted_and_pay_for_what_is_used(name: str) -> None:
    table = of_type("AWS::DynamoDB::Table")[name]
    assert table["SSESpecification"]["SSEEnabled"] is True
    assert table["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize(
    "name", ["TrustTable", "RevocationsTable", "LedgerTable", "WorkTable", "TracesTable"]
)
def test_tables_of_record_survive_a_mistake(name: str) -> None:
    resource = document()["Resources"][name]
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"
    assert resource["Properties"]["DeletionProtectionEnabled"] is True
    recovery = resource["Properties"]["PointInTimeRecoverySpecification"]
    assert recovery["PointInTimeRecoveryEnabled"] is True


@pytest.mark.parametrize("name", ["TrustTable", "RevocationsTable", "LedgerTable", "WorkTable"])
def test_the_ledger_never_expires_by_itself(name: str) -> None:
    assert "TimeToLiveSpecification" not in of_type("AWS::DynamoDB::Table")[name]


def test_buckets_are_encrypted_versioned_private_and_kept() -> None:
    buckets = of_type("AWS::S3::Bucket")
    assert buckets
    for name, bucket in buckets.items():
        [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
        assert bucket["VersioningConfiguration"]["Status"] == "Enabled"
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
        assert len(bucket["PublicAccessBlockConfiguration"]) == 4
        assert document()["Resources"][name]["DeletionPolicy"] == "Retain"


def test_the_queue_that_s3_notifies_lets_in_this_bucket_alone() -> None:
    [bucket] = of_type("AWS::S3::Bucket").values()
    notified = {
        referenced(c["Queue"]) for c in bucket["NotificationConfiguration"]["QueueConfigurations"]
    }
    allowed = set()
    for policy in of_type("AWS::SQS::QueuePolicy").values():
        for statement in policy["PolicyDocument"]["Statement"]:
            assert statement["Principal"] == {"Service": "s3.amazonaws.com"}
            told = json.dumps(statement["Condition"])
            assert "aws:SourceArn" in told
            assert "aws:SourceAccount" in told
            allowed |= {referenced(q) for q in policy["Queues"]}
    assert notified == allowed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_logs_into_a_group_of_its_own_that_is_not_kept_for_ever(name: str) -> None:
    group = of_type("AWS::Logs::LogGroup")[referenced(FUNCTIONS[name]["LoggingConfig"]["LogGroup"])]
    assert group["RetentionInDays"]
    assert group["LogGroupName"] == {"Fn::Sub": f"/aws/lambda/${{AWS::StackName}}-{name}"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_do_only_what_is_named_to_what_is_named(name: str) -> None:
    for statement in statements(FUNCTIONS[name]):
        assert statement["Effect"] == "Allow"
        actions = as_list(statement["Action"])
        for action in actions:
            assert re.fullmatch(r"[a-z0-9]+:[A-Za-z]+", action), action
        for resource in as_list(statement["Resource"]):
            # traces of X-Ray are no resource
            assert resource != "*" or all(action.startswith("xray:") for action in actions)


def test_the_parser_and_the_child_that_it_bounds_fit_into_the_function() -> None:
    """Beyond its memory the function is killed with its child, and no reason is ever recorded."""
    # The handler with the tokenizer, the document and the child's reply; the child's program, whose
    # memory the child shares as long as it lives.
    own = (300 + 40) * 2**20
    assert Limits().memory_bytes + own <= FUNCTIONS["parse"]["MemorySize"] * 2**20
    # A function that is ended first is not heard of: its document comes again and again.
    took = isolation._START_SECONDS + Limits().wall_seconds + isolation._GRACE_SECONDS
    assert FUNCTIONS["parse"]["Timeout"] > took + 60  # and the chunks are made and written


def test_a_whole_batch_of_full_parts_is_embedded_in_time_also_one_by_one() -> None:
    """What a killed function had embedded is lost, for each part of its batch. A batch that the
    model can't take is embedded once more, each part for itself."""
    (batch,) = [event["BatchSize"] for name, _, event in queue_sources() if name == "embed"]
    a_chunk = 0.3  # seconds that one core takes for a full chunk of the larger model, e5-small-v2
    cores = FUNCTIONS["embed"]["MemorySize"] / 1769  # Lambda gives one core for 1,769 MB
    assert FUNCTIONS["embed"]["Timeout"] > 1.5 * 2 * batch * PART_CHUNKS * a_chunk / cores


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_stays_within_its_memory_and_time(name: str) -> None:
    function = FUNCTIONS[name]
    assert function["MemorySize"] <= 1024
    if any(event["Type"] == "Api" for event in function.get("Events", {}).values()):
        assert function["Timeout"] <= 29  # API Gateway waits no longer


# Resources that a function is told of by a variable, and may then use.
TOLD = ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::KMS::Key")


def named_in(value: Any) -> set[str]:
    """The tables, queues and keys that a part of the template names."""
    found = re.findall(r'"(?:Ref|Fn::GetAtt)": \[?"(\w+)"|\$\{(\w+)\.Arn\}', json.dumps(value))
    resources = document()["Resources"]
    names = {name for pair in found for name in pair if name in resources}
    return {name for name in names if resources[name]["Type"] in TOLD}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_use_the_tables_queues_and_keys_that_it_is_told_of(name: str) -> None:
    """Its own queue and the key of the bucket, which S3 uses for it, it is not told of."""
    allowed = {
        resource
        for statement in statements(FUNCTIONS[name])
        if "Condition" not in statement and "sqs:ReceiveMessage" not in statement["Action"]
        for resource in named_in(statement["Resource"])
    }
    assert allowed == named_in(variables(FUNCTIONS[name]))


def test_every_route_but_health_asks_the_authorizer() -> None:
    assert of_type("AWS::Serverless::Api")["Api"]["Auth"]["DefaultAuthorizer"] == "Caller"
    open_routes = [
        event["Properties"]["Path"]
        for function in FUNCTIONS.values()
        for event in function.get("Events", {}).values()
        if event["Type"] == "Api" and "Authorizer" in event["Properties"].get("Auth", {})
    ]
    assert open_routes == ["/health"]


def test_an_allow_is_kept_for_a_minute_and_calls_are_throttled() -> None:
    """A token whose group was taken away, or that was cut, opens a route for that long at most."""
    (api,) = of_type("AWS::Serverless::Api").values()
    assert api["Auth"]["DefaultAuthorizer"] == "Caller"
    assert 0 < api["Auth"]["Authorizers"]["Caller"]["Identity"]["ReauthorizeEvery"] <= 60
    (every,) = api["MethodSettings"]
    assert (every["ResourcePath"], every["HttpMethod"]) == ("/*", "*")
    assert 0 < every["ThrottlingRateLimit"] <= every["ThrottlingBurstLimit"] <= 1_000


def test_the_bucket_refuses_what_is_not_encrypted_on_the_way() -> None:
    (policy,) = of_type("AWS::S3::BucketPolicy").values()
    (only,) = policy["PolicyDocument"]["Statement"]
    assert (only["Effect"], only["Principal"], only["Action"]) == ("Deny", "*", "s3:*")
    assert only["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(only["Resource"]) == 2


def test_ids_are_read_from_outputs_and_exist() -> None:
    known = set(document()["Resources"]) | {"AWS::Region", "AWS::URLSuffix"}
    outputs: dict[str, Any] = document()["Outputs"]
    assert {"ApiUrl", "ApiId", "BucketName"} <= outputs.keys()
    for output in outputs.values():
        for name in re.findall(r"\$\{([A-Za-z:]+)", json.dumps(output["Value"])):
            assert name in known


def gateway_responses() -> dict[str, Properties]:
    (api,) = of_type("AWS::Serverless::Api").values()
    found: dict[str, Properties] = api["GatewayResponses"]
    return found


@pytest.mark.parametrize("name", gateway_responses())
def test_what_the_gateway_refuses_is_a_problem_like_any_other(name: str) -> None:
    told = gateway_responses()[name]
    body = json.loads(told["ResponseTemplates"]["application/json"])
    error = CustodyError(body["detail"], code=body["code"])
    error.status = told["StatusCode"]
    expected = problem(error, "$context.requestId").model_dump()
    if error.status == 500:
        expected |= {"detail": body["detail"]}
    assert body == expected
    assert told["ResponseParameters"]["Headers"]["Content-Type"] == f"'{PROBLEM_TYPE}'"


def test_the_gateway_s_own_refusals_are_all_told() -> None:
    assert {"UNAUTHORIZED", "ACCESS_DENIED", "AUTHORIZER_FAILURE", "MISSING_AUTHENTICATION_TOKEN",
            "REQUEST_TOO_LARGE", "THROTTLED", "INTEGRATION_TIMEOUT", "DEFAULT_5XX"} <= set(
        gateway_responses()
    )  # fmt: skip
