"""How long the first document of a cold local stack takes from its drop to being served.

    python -m benchmarks.first_document --json

A stack is put up on free ports and taken down again. No document was in it before. One file is
dropped into S3 and searched for until it is found.

``seconds``: from the drop to the first search that serves it, through accept, parse, embed and
publish on their queues. ``cold_start_s``: in the same run, the first call of a function that no
document meets before it is erased, with a batch without messages: the emulator unpacks one layer
and imports it. ``up_s``: from the start of the deployment's build to a stack that answers.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from custody_client import Client
from custody_local import clients
from custody_local.progress import Progress
from custody_local.stack import Stack
from custody_local.state import State

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client

TENANT, SOURCE = "benchmark", "notes"
TEXT = b"The sluice gate is opened by two people, and each of them signs the log."
QUESTION = "Who opens the sluice gate?"
PATIENCE, PAUSE = 300.0, 0.2  # seconds


def client_of(stack: Stack, state: State) -> Client:
    token = stack.mint_token(
        tenant=TENANT, subject="bench", scopes=["custody/read", "custody/govern"]
    )
    return Client(state.api_url, token, timeout=120.0)


def drop(state: State) -> None:
    s3: S3Client = clients.session(state.endpoint_url).client("s3")
    s3.put_object(
        Bucket=state.bucket,
        Key=f"incoming/{TENANT}/{SOURCE}/gate.txt",
        Body=TEXT,
        ContentType="text/plain",
    )


def until_served(client: Client) -> None:
    deadline = time.monotonic() + PATIENCE
    while not client.search(QUESTION)["results"]:
        if time.monotonic() > deadline:
            raise SystemExit(f"The document was not served within {PATIENCE:.0f} s.")
        time.sleep(PAUSE)


def cold_start(state: State) -> float:
    functions: LambdaClient = clients.session(state.endpoint_url).client("lambda")
    began = time.perf_counter()
    reply = functions.invoke(
        FunctionName=f"{state.stack_name}-propagate", Payload=json.dumps({"Records": []})
    )
    told = reply["Payload"].read()
    seconds = time.perf_counter() - began
    if "FunctionError" in reply:
        raise SystemExit(f"The function failed: {told.decode(errors='replace')}")
    return seconds


def measured(stack: Stack) -> dict[str, float]:
    began = time.perf_counter()
    state = stack.up(port=0)
    up = time.perf_counter() - began
    with client_of(stack, state) as client:
        client.put_source(
            SOURCE,
            trust_domain="official",
            writers=["user:bench"],
            default_acl=[f"tenant:{TENANT}"],
        )
        began = time.perf_counter()
        drop(state)
        until_served(client)
        seconds = time.perf_counter() - began
    return {
        "seconds": round(seconds, 2),
        "cold_start_s": round(cold_start(state), 2),
        "up_s": round(up, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the JSON line only")
    options = parser.parse_args()
    console = Console(stderr=True, quiet=options.json and not sys.stderr.isatty())
    with tempfile.TemporaryDirectory(prefix="custody-benchmark-") as folder:
        stack = Stack(Path(folder), progress=Progress(quiet=console.quiet))
        try:
            figures = measured(stack)
        finally:
            stack.down()
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
