"""The local AWS: MiniStack in an environment of its own, on the loopback address."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from custody_local import net, processes
from custody_local.errors import MissingTool
from custody_local.paths import VENVS
from custody_local.processes import Process
from custody_local.progress import Progress

REGION = "us-east-1"
ACCOUNT = "000000000000"
# Of the caller's environment, only what a program needs to run: no AWS profile, no settings.
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "JAVA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR")


def url(port: int) -> str:
    return f"http://{net.HOST}:{port}"


def client_environment(endpoint: str) -> dict[str, str]:
    """What makes an AWS client talk to the emulator and to nothing else."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


def bare_environment(extra: Mapping[str, str]) -> dict[str, str]:
    return {k: os.environ[k] for k in PASSED_ON if k in os.environ} | dict(extra)


def answers(endpoint: str) -> bool:
    return net.get_json(f"{endpoint}/_ministack/health") is not None


def start(folder: Path, port: int, progress: Progress, *, enforce_iam: bool = False) -> Process:
    """Start with private folders under ``folder`` and wait until it answers."""
    program = VENVS / "ministack" / "bin" / "ministack"
    if not program.exists():
        raise MissingTool("The local AWS is not installed: run 'make tools' first.")
    temporary = folder / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    log = folder / "emulator.log"
    environment = bare_environment(
        {
            "GATEWAY_PORT": str(port),
            "BIND_HOST": net.HOST,
            "MINISTACK_HOST": net.HOST,
            "MINISTACK_REGION": REGION,
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "IOT_MTLS_ENABLED": "0",
            "TMPDIR": str(temporary),
            "LAMBDA_EXECUTOR": "local",
            "AUTH": "true" if enforce_iam else "false",
            "LOG_LEVEL": "INFO",
            # A cold start unpacks the layers again; idle handlers may stay.
            "LAMBDA_WARM_TTL_SECONDS": "900",
            # The handlers inherit these.
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            **client_environment(url(port)),
        }
    )
    with progress.step(f"Starting the local AWS on port {port}"):
        process = processes.start([str(program)], log=log, env=environment, cwd=folder)
        try:
            processes.wait_until(
                lambda: answers(url(port)), process, what="The local AWS", log=log, seconds=60
            )
        except BaseException:
            processes.stop(process)
            raise
    return process
