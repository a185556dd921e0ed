"""With IAM enforced each function holds its own role to what its policy says, and to no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.service import Service

DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}


@pytest.fixture
def as_function(service: Service) -> Callable[[str, str], Any]:
    """A client of an AWS service with the credentials of a function's role."""
    if not service.state.enforce_iam:
        pytest.skip("the emulator holds nobody to a policy: set CUSTODY_TEST_ENFORCE_IAM=1")

    def client(function: str, name: str) -> Any:
        told = service.aws("lambda").get_function_configuration(
            FunctionName=f"{service.state.stack_name}-{function}"
        )
        given = service.aws("sts").assume_role(RoleArn=told["Role"], RoleSessionName="trial")
        session = boto3.Session(
            aws_access_key_id=given["Credentials"]["AccessKeyId"],
            aws_secret_access_key=given["Credentials"]["SecretAccessKey"],
            aws_session_token=given["Credentials"]["SessionToken"],
            region_name=service.state.region,
        )
        return session.client(name, endpoint_url=service.state.endpoint_url)  # type: ignore[call-overload]  # any service

    return client


def code(call: Callable[[], object]) -> str | None:
    try:
        call()
    except ClientError as error:
        return error.response["Error"]["Code"]
    return None


def sign(client: Any, key: str) -> Callable[[], object]:
    return lambda: client.sign(
        KeyId=key, Message=b"x" * 32, MessageType="DIGEST", SigningAlgorithm="ECDSA_SHA_256"
    )


@pytest.mark.parametrize("function", ["parse", "embed", "query", "accept", "documents", "gate"])
def test_no_function_but_publish_may_sign(
    service: Service, as_function: Callable[[str, str], Any], function: str
) -> None:
    key = service.state.outputs["IngestionKeyArn"]
    assert code(sign(as_function(function, "kms"), key)) in DENIED
    assert code(sign(as_function("publish", "kms"), key)) is None


def test_a_search_can_read_the_ledger_and_change_nothing(
    service: Service, as_function: Callable[[str, str], Any]
) -> None:
    table = service.state.outputs["LedgerTableName"]
    key = {"pk": {"S": "nobody"}, "sk": {"S": "nothing"}}
    ledger = as_function("query", "dynamodb")
    request = {table: {"Keys": [key], "ConsistentRead": True}}
    assert code(lambda: ledger.batch_get_item(RequestItems=request)) is None
    assert code(lambda: ledger.put_item(TableName=table, Item=key)) in DENIED
    assert code(lambda: ledger.delete_item(TableName=table, Key=key)) in DENIED
    store = as_function("query", "s3")
    read = {"Bucket": service.state.bucket, "Key": "raw/nobody/nothing"}
    assert code(lambda: store.get_object(**read)) in DENIED
