"""Build the template, deploy it to an endpoint, and set what the emulator leaves out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from custody_local import emulator, template, workers
from custody_local.errors import LocalStackError, MissingTool
from custody_local.paths import ROOT, VENVS
from custody_local.progress import Progress

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_s3 import S3Client

SAM = VENVS / "sam" / "bin" / "sam"


def build(model: str, folder: Path, progress: Progress, *, platform: str = "host") -> Path:
    """``sam build`` into ``folder``, which belongs to this caller alone while it is used; returns
    the built template."""
    if not SAM.exists():
        raise MissingTool("The SAM command is not installed: run 'make tools' first.")
    if shutil.which("make") is None:
        raise MissingTool("make is not installed, and the layers are built with it.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with progress.step("Building the layers and functions"):
        command = ["build", "--template-file", str(ROOT / "template.yaml")]
        command += ["--build-dir", str(folder), "--base-dir", str(ROOT)]
        extra = {"CUSTODY_LAYER_PLATFORM": platform, "CUSTODY_MODEL": model}
        _sam(command, "The build", extra, folder.parent / "sam-build.log")
    return folder / "template.yaml"


def deploy(
    built: Path,
    endpoint: str,
    stack_name: str,
    parameters: Mapping[str, str],
    progress: Progress,
) -> dict[str, str]:
    """``sam deploy`` to the emulator; returns the stack's outputs."""
    with progress.step("Deploying to the local AWS"):
        deployed = workers.deployable(built, workers.here())
        command = ["deploy", "--template-file", str(deployed), "--stack-name", stack_name]
        command += ["--resolve-s3", "--no-confirm-changeset", "--no-fail-on-empty-changeset"]
        command += ["--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
        command += ["--no-progressbar", "--region", emulator.REGION, "--parameter-overrides"]
        command += [f"{name}={value}" for name, value in parameters.items() if value]
        log = built.parent.parent / "sam-deploy.log"
        _sam(command, "The deployment", emulator.client_environment(endpoint), log)
        client = session().client("cloudformation", endpoint_url=endpoint)
        outputs = _outputs(client, stack_name)
        complete(built, client, endpoint, stack_name)
    return outputs


def session() -> boto3.Session:
    """Credentials that the emulator takes; nothing of the caller's own."""
    return boto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - the emulator takes any
        region_name=emulator.REGION,
    )


def _sam(command: list[str], what: str, extra: Mapping[str, str], log: Path) -> None:
    # SAM's Python builder wants an interpreter of the runtime's version first on PATH, and a
    # version manager's shim may stand there.
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ.get("PATH", os.defpath)])
    environment = emulator.bare_environment(
        {"SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": emulator.REGION, **extra, "PATH": path}
    )
    with log.open("w") as output:
        done = subprocess.run(
            [str(SAM), *command],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=ROOT,
        )
    if done.returncode:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        told = [line for line in lines if line][-6:]
        raise LocalStackError(f"{what} failed (whole log: {log}): {' | '.join(told)}")


def _outputs(client: CloudFormationClient, stack_name: str) -> dict[str, str]:
    stack = client.describe_stacks(StackName=stack_name)["Stacks"][0]
    return {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}


def complete(built: Path, client: CloudFormationClient, endpoint: str, stack_name: str) -> None:
    """Set by API the properties of tables and buckets that the emulator's deployment ignores (on
    AWS the template alone sets them; here they are read from it, so that they agree), and undo
    what would stop it where it differs from AWS."""
    rows = client.describe_stack_resources(StackName=stack_name)["StackResources"]
    physical = {row["LogicalResourceId"]: row["PhysicalResourceId"] for row in rows}
    roles = session().client("iam", endpoint_url=endpoint)
    for row in rows:
        if row["ResourceType"] == "AWS::IAM::Role":
            _name_batches(roles, row["PhysicalResourceId"])
    document = template.load(built)
    tables = session().client("dynamodb", endpoint_url=endpoint)
    for name, wanted in template.resources(document, "AWS::DynamoDB::Table").items():
        _complete_table(tables, physical[name], wanted)
    buckets = session().client("s3", endpoint_url=endpoint)
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
