"""Build the template, deploy it to an endpoint, and set what the emulator leaves out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from custody_local import archives, clients, completion, emulator, workers
from custody_local.errors import LocalStackError, MissingTool
from custody_local.paths import ROOT, VENVS
from custody_local.progress import Progress

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

SAM = VENVS / "sam" / "bin" / "sam"


@dataclass(frozen=True, slots=True)
class Deployed:
    """``stack_id`` stays its own when a stack of the same name follows."""

    stack_id: str
    outputs: dict[str, str]


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
) -> Deployed:
    """``sam deploy`` to the endpoint."""
    aws = clients.session(endpoint)
    with progress.step(f"Deploying to {endpoint}"):
        deployed = workers.deployable(built, workers.here())
        archives.pack_layers(deployed)
        bucket = artifacts_bucket(stack_name)
        aws.client("s3").create_bucket(Bucket=bucket)
        command = ["deploy", "--template-file", str(deployed), "--stack-name", stack_name]
        command += ["--s3-bucket", bucket, "--no-confirm-changeset", "--no-fail-on-empty-changeset"]
        command += ["--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
        command += ["--no-progressbar", "--region", emulator.REGION, "--parameter-overrides"]
        command += [f"{name}={value}" for name, value in parameters.items() if value]
        # An emulator is asked more often than AWS may be.
        environment = {"SAM_CLI_POLL_DELAY": "0.5", **emulator.client_environment(endpoint)}
        _sam(command, "The deployment", environment, built.parent.parent / "sam-deploy.log")
        completion.complete(built, aws, stack_name)
        return _deployed(aws.client("cloudformation"), stack_name)


def artifacts_bucket(stack_name: str) -> str:
    """Of this stack alone, so that it can go with the stack."""
    return f"{stack_name}-artifacts-{emulator.ACCOUNT}"


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


def _deployed(client: CloudFormationClient, stack_name: str) -> Deployed:
    stack = client.describe_stacks(StackName=stack_name)["Stacks"][0]
    outputs = {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}
    return Deployed(stack["StackId"], outputs)
