"""With IAM enforced each role is held to the table of roles: tried is every write that there is, to
everything that the template makes, and denied is every one that the table does not grant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.architecture.roles import ROLES
from tests.architecture.template_facts import of_type
from tests.support.ledger_items import ITEMS
from tests.support.service import Service

DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
NEVER = "attribute_exists(nothing_has_this)"
PREFIXES = ("incoming", "raw", "evidence", "vectors", "rejected")

type Call = Callable[[], object]
type RoleAttempt = tuple[str, str, str, Call]
"""What is tried, the action and the resource that it takes, and the call."""


class As:
    """AWS clients with the credentials of a function's role."""

    def __init__(self, service: Service, function: str) -> None:
        told = service.aws("lambda").get_function_configuration(
            FunctionName=f"{service.state.stack_name}-{function}"
        )
        given = service.aws("sts").assume_role(RoleArn=told["Role"], RoleSessionName="trial")
        self._endpoint = service.state.endpoint_url
        self._session = boto3.Session(
            aws_access_key_id=given["Credentials"]["AccessKeyId"],
            aws_secret_access_key=given["Credentials"]["SecretAccessKey"],
            aws_session_token=given["Credentials"]["SessionToken"],
            region_name=service.state.region,
        )
        self.client = cache(self._client)

    def _client(self, name: str) -> Any:
        return self._session.client(name, endpoint_url=self._endpoint)  # type: ignore[call-overload]  # any service


@pytest.fixture
def acting(service: Service) -> Callable[[str], As]:
    if not service.state.enforce_iam:
        pytest.skip("the emulator holds nobody to a policy: set CUSTODY_TEST_ENFORCE_IAM=1")
    return lambda function: As(service, function)


@pytest.fixture(scope="module")
def physical(service: Service) -> Mapping[str, str]:
    """Physical ids, by logical one."""
    found = service.aws("cloudformation").describe_stack_resources(
        StackName=service.state.stack_name
    )
    return {row["LogicalResourceId"]: row["PhysicalResourceId"] for row in found["StackResources"]}


def code(call: Call) -> str | None:
    try:
        call()
    except ClientError as error:
        return error.response["Error"]["Code"]
    return None


def harmless_writes(role: As, physical: Mapping[str, str]) -> Iterator[RoleAttempt]:
    """To tables: each has a condition that nothing fulfils, so that a right can be tried too."""
    client = role.client("dynamodb")

    def writes(what: str, table: str, name: str, key: dict[str, Any]) -> Iterator[RoleAttempt]:
        given = {"TableName": name, "ConditionExpression": NEVER}
        change = {
            "UpdateExpression": "SET body = :b",
            "ExpressionAttributeValues": {":b": {"S": ""}},
        }
        update = {"Key": key, **given, **change}
        transaction = [{"Update": update}]
        tried: dict[str, tuple[str, Call]] = {
            "put": ("PutItem", lambda: client.put_item(Item=key, **given)),
            "update": ("UpdateItem", lambda: client.update_item(**update)),
            "transact": (
                "UpdateItem",
                lambda: client.transact_write_items(TransactItems=transaction),
            ),
            "delete": ("DeleteItem", lambda: client.delete_item(Key=key, **given)),
        }
        for way, (action, call) in tried.items():
            yield f"{way} {what}", f"dynamodb:{action}", f"table/{table}", call

    for logical, properties in of_type("AWS::DynamoDB::Table").items():
        names = [each["AttributeName"] for each in properties["KeySchema"]]
        table = logical.removesuffix("Table").lower()
        key = {name: {"S": "nobody"} for name in names}
        yield from writes(f"an item of {table}", table, physical[logical], key)
    for item, (tables, where) in ITEMS.items():
        for table in tables:
            name = physical[f"{table.capitalize()}Table"]
            key = {"pk": {"S": where.pk}, "sk": {"S": where.sk}}
            yield from writes(f"a {item}", table, name, key)


def signatures(role: As, physical: Mapping[str, str]) -> Iterator[RoleAttempt]:
    client = role.client("kms")

    def sign(key: str) -> Call:
        return lambda: client.sign(
            KeyId=key, Message=b"x" * 32, MessageType="DIGEST", SigningAlgorithm="ECDSA_SHA_256"
        )

    for logical, properties in of_type("AWS::KMS::Key").items():
        if properties.get("KeyUsage") == "SIGN_VERIFY":
            key = logical.removesuffix("Key").lower()
            yield f"sign with {key}", "kms:Sign", f"key/{key}", sign(physical[logical])


def messages(role: As, physical: Mapping[str, str]) -> Iterator[RoleAttempt]:
    client = role.client("sqs")

    def send(url: str) -> Call:
        return lambda: client.send_message(QueueUrl=url, MessageBody="{}")

    def take(url: str) -> Call:
        return lambda: client.receive_message(QueueUrl=url, VisibilityTimeout=0)

    for logical in of_type("AWS::SQS::Queue"):
        queue, url = logical.removesuffix("Queue").lower(), physical[logical]
        yield f"send to {logical}", "sqs:SendMessage", f"queue/{queue}", send(url)
        yield f"take from {logical}", "sqs:ReceiveMessage", f"queue/{queue}", take(url)


def objects(role: As, physical: Mapping[str, str]) -> Iterator[RoleAttempt]:
    client, bucket = role.client("s3"), physical["Bucket"]

    def put(key: str) -> Call:
        return lambda: client.put_object(Bucket=bucket, Key=key, Body=b"x")

    def delete(key: str, **version: str) -> Call:
        return lambda: client.delete_object(Bucket=bucket, Key=key, **version)

    for prefix in PREFIXES:
        key, of = f"{prefix}/nobody/nothing/x", f"bucket/{prefix}/*"
        yield f"put into {prefix}", "s3:PutObject", of, put(key)
        yield f"delete from {prefix}", "s3:DeleteObject", of, delete(key)
        version = delete(key, VersionId="0" * 32)
        yield f"delete a version from {prefix}", "s3:DeleteObjectVersion", of, version


def granted(function: str, action: str, resource: str) -> bool:
    return resource in ROLES[function].get(action, ())


@pytest.mark.parametrize("function", ROLES)
def test_a_role_may_write_what_the_table_says_and_nothing_else(
    acting: Callable[[str], As], physical: Mapping[str, str], function: str
) -> None:
    role = acting(function)
    harmless = [*harmless_writes(role, physical), *signatures(role, physical)]
    others = [*messages(role, physical), *objects(role, physical)]
    for what, action, resource, call in harmless:
        denied = code(call) in DENIED
        assert denied is not granted(function, action, resource), f"{function}: {what}"
    for what, action, resource, call in others:
        # What is granted leaves something behind; that it works is told by the main path.
        if not granted(function, action, resource):
            assert code(call) in DENIED, f"{function}: {what}"


def test_a_search_can_read_the_ledger_and_no_object(
    service: Service, acting: Callable[[str], As], physical: Mapping[str, str]
) -> None:
    role = acting("query")
    key = {"pk": {"S": "nobody"}, "sk": {"S": "nothing"}}
    tables = {physical[name]: {"Keys": [key]} for name in ("TrustTable", "LedgerTable")}
    ledger = role.client("dynamodb")
    assert code(lambda: ledger.batch_get_item(RequestItems=tables)) is None
    work = {physical["WorkTable"]: {"Keys": [key]}}
    assert code(lambda: ledger.batch_get_item(RequestItems=tables | work)) in DENIED
    read = {"Bucket": service.state.bucket, "Key": "raw/nobody/nothing"}
    assert code(lambda: role.client("s3").get_object(**read)) in DENIED
