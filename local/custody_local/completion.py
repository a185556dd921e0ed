"""Set what the emulator leaves out of a deployment, and undo what would stop it there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from custody_local import template
from custody_local.clients import EndpointSession

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_s3 import S3Client


def complete(built: Path, aws: EndpointSession, stack_name: str) -> None:
    """Set by API the properties of tables and buckets that the emulator's deployment ignores (on
    AWS the template alone sets them; here they are read from it, so that they agree), and undo
    what would stop it where it differs from AWS."""
    client: CloudFormationClient = aws.client("cloudformation")
    rows = client.describe_stack_resources(StackName=stack_name)["StackResources"]
    physical = {row["LogicalResourceId"]: row["PhysicalResourceId"] for row in rows}
    roles = aws.client("iam")
    for row in rows:
        if row["ResourceType"] == "AWS::IAM::Role":
            _name_batches(roles, row["PhysicalResourceId"])
    document = template.load(built)
    tables = aws.client("dynamodb")
    for name, wanted in template.resources(document, "AWS::DynamoDB::Table").items():
        _complete_table(tables, physical[name], wanted)
    buckets = aws.client("s3")
    for name, wanted in template.resources(document, "AWS::S3::Bucket").items():
        _complete_bucket(buckets, physical[name], wanted, physical)
        _allow_plain_http(buckets, physical[name])


def _complete_table(client: DynamoDBClient, table: str, wanted: dict[str, Any]) -> None:
    ttl = wanted.get("TimeToLiveSpecification")
    if ttl:
        present = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        if present.get("TimeToLiveStatus") not in {"ENABLED", "ENABLING"}:
            client.update_time_to_live(TableName=table, TimeToLiveSpecification=ttl)
    if wanted.get("PointInTimeRecoverySpecification"):
        client.update_continuous_backups(
            TableName=table,
            PointInTimeRecoverySpecification=wanted["PointInTimeRecoverySpecification"],
        )
    encryption = wanted.get("SSESpecification")
    if encryption:
        client.update_table(
            TableName=table,
            SSESpecification={
                "Enabled": encryption["SSEEnabled"],
                "SSEType": encryption.get("SSEType", "KMS"),
            },
        )


def _complete_bucket(
    client: S3Client, bucket: str, wanted: dict[str, Any], physical: Mapping[str, str]
) -> None:
    encryption = wanted.get("BucketEncryption")
    if encryption:
        rules: list[Any] = []  # in the template's words, which are the API's
        for rule in encryption["ServerSideEncryptionConfiguration"]:
            default = dict(rule["ServerSideEncryptionByDefault"])
            key = default.get("KMSMasterKeyID")
            if isinstance(key, dict):
                target = key.get("Ref") or key["Fn::GetAtt"][0]
                default["KMSMasterKeyID"] = physical[target]
            rules.append(
                {
                    "ApplyServerSideEncryptionByDefault": default,
                    "BucketKeyEnabled": rule.get("BucketKeyEnabled", False),
                }
            )
        client.put_bucket_encryption(
            Bucket=bucket,
            ServerSideEncryptionConfiguration={"Rules": rules},
        )
    lifecycle = wanted.get("LifecycleConfiguration")
    if lifecycle:
        wanted_rules: list[Any] = [_lifecycle_rule(rule) for rule in lifecycle["Rules"]]
        client.put_bucket_lifecycle_configuration(
            Bucket=bucket,
            LifecycleConfiguration={"Rules": wanted_rules},
        )


def _allow_plain_http(client: S3Client, bucket: str) -> None:
    """Drop the bucket policy's demand for TLS, which the loopback address has not; with IAM
    enforced the emulator would refuse every call. What else the policy says stays."""
    try:
        policy = json.loads(client.get_bucket_policy(Bucket=bucket)["Policy"])
    except client.exceptions.ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchBucketPolicy":
            return
        raise
    kept = [s for s in policy["Statement"] if "aws:SecureTransport" not in json.dumps(s)]
    if kept:
        document = json.dumps(policy | {"Statement": kept})
        client.put_bucket_policy(Bucket=bucket, Policy=document)
    else:
        client.delete_bucket_policy(Bucket=bucket)


def _name_batches(client: IAMClient, role: str) -> None:
    """AWS checks a batch of messages as sqs:SendMessage; the emulator, by a name of its own."""
    for name in client.list_role_policies(RoleName=role)["PolicyNames"]:
        document: Any = client.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        statements = [s for s in document["Statement"] if "sqs:SendMessage" in s["Action"]]
        for statement in statements:
            statement["Action"] = [*statement["Action"], "sqs:SendMessageBatch"]
        if statements:
            client.put_role_policy(
                RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document)
            )


def _lifecycle_rule(rule: dict[str, Any]) -> dict[str, Any]:
    """The API's spelling of a CloudFormation lifecycle rule."""
    told: dict[str, Any] = {
        "ID": rule["Id"],
        "Status": rule["Status"],
        "Filter": {"Prefix": rule.get("Prefix", "")},
    }
    if "ExpirationInDays" in rule:
        told["Expiration"] = {"Days": rule["ExpirationInDays"]}
    for same in ("AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration"):
        if same in rule:
            told[same] = rule[same]
    return told
