"""Take a stack out of an AWS that goes on running, with what the template would keep on AWS."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from custody_local import deployment
from custody_local.clients import EndpointSession
from custody_local.errors import LocalStackError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_s3 import S3Client

PATIENCE = 120.0
SOONEST_DAYS = 7  # a key is not deleted before


def present(aws: EndpointSession, stack_name: str) -> bool:
    """``stack_name``: a name or an id."""
    return _status(aws.client("cloudformation"), stack_name) is not None


def remove(aws: EndpointSession, stack_name: str) -> None:
    """What holds data goes after the stack, so that nothing acts on its going any more. Raises
    LocalStackError when the stack stays. Where there is nothing it does nothing."""
    formation: CloudFormationClient = aws.client("cloudformation")
    held: dict[str, list[str]] = {}
    if present(aws, stack_name):
        rows = formation.describe_stack_resources(StackName=stack_name)["StackResources"]
        for row in rows:
            held.setdefault(row["ResourceType"], []).append(row.get("PhysicalResourceId", ""))
        tables: DynamoDBClient = aws.client("dynamodb")
        for table in held.get("AWS::DynamoDB::Table", []):
            tables.update_table(TableName=table, DeletionProtectionEnabled=False)
        formation.delete_stack(StackName=stack_name)
        _wait_until_gone(formation, stack_name)
        _delete_tables(tables, held.get("AWS::DynamoDB::Table", []))
        _delete_keys(aws.client("kms"), held.get("AWS::KMS::Key", []))
    buckets = [*held.get("AWS::S3::Bucket", []), deployment.artifacts_bucket(stack_name)]
    for bucket in buckets:
        _delete_bucket(aws.client("s3"), bucket)


def _status(client: CloudFormationClient, stack_name: str) -> str | None:
    """None: there is no such stack."""
    try:
        status: str = client.describe_stacks(StackName=stack_name)["Stacks"][0]["StackStatus"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return None if status == "DELETE_COMPLETE" else status


def _wait_until_gone(client: CloudFormationClient, stack_name: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while (status := _status(client, stack_name)) is not None:
        if status == "DELETE_FAILED" or time.monotonic() > deadline:
            raise LocalStackError(
                f"The stack {stack_name} was not deleted ({status}): see its events at that "
                "endpoint, and run 'custody down' again."
            )
        time.sleep(0.3)


def _delete_tables(client: DynamoDBClient, names: list[str]) -> None:
    for name in set(names) & set(_tables(client)):
        client.delete_table(TableName=name)


def _tables(client: DynamoDBClient) -> list[str]:
    pages = client.get_paginator("list_tables").paginate()
    return [name for page in pages for name in page["TableNames"]]


def _delete_keys(client: KMSClient, keys: list[str]) -> None:
    for key in keys:
        if client.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] != "PendingDeletion":
            client.schedule_key_deletion(KeyId=key, PendingWindowInDays=SOONEST_DAYS)


def _delete_bucket(client: S3Client, name: str) -> None:
    try:
        for page in client.get_paginator("list_object_versions").paginate(Bucket=name):
            for version in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]:
                client.delete_object(
                    Bucket=name, Key=version["Key"], VersionId=version["VersionId"]
                )
        client.delete_bucket(Bucket=name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchBucket":
            raise
