"""Run one handler under the Lambda runtime interface emulator, as `sam local invoke` does in Docker.

    python -m custody_local.invoke FUNCTION EVENT_FILE

The handler is the built one, with its layers, the runtime's own packages and nothing else on its
path; its environment is that of the function deployed in the local stack. Without a running stack
one is started for the call and stopped after it. An API event is called as if it happened now, so
that a recorded token is as good as it was. The reply goes to stdout, what the function
prints to stderr. Exit codes: 0 replied, 1 the function failed, 2 it could not be called.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from custody_local import clients, emulator, net, processes, template
from custody_local.errors import LocalStackError, MissingTool
from custody_local.paths import LOCAL, VENVS
from custody_local.progress import Progress
from custody_local.stack import Stack
from custody_local.state import State

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

RUNTIME = LOCAL / "runtime"
RIE_FOLDER = "lib/python3.12/site-packages/samcli/local/rapid"
INVOCATIONS = "2015-03-31/functions/function/invocations"


def interface_emulator() -> Path:
    """The program that the SAM command brings along."""
    machine = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    if platform.system() != "Linux":
        raise MissingTool(
            "The runtime interface emulator is a Linux program: on other systems use "
            "'sam local invoke' with Docker."
        )
    found = VENVS / "sam" / RIE_FOLDER / f"aws-lambda-rie-{machine}"
    if not found.exists():
        raise MissingTool(f"No runtime interface emulator for {machine}: run 'make tools' first.")
    # As installed it may lack the right to be run.
    program = LOCAL / "cache" / found.name
    if not program.exists() or program.stat().st_size != found.stat().st_size:
        program.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, program)
    program.chmod(0o755)
    return program


def function_paths(built: Path, function: str) -> list[Path]:
    """Folders of a built function in the order of the runtime's path: code, layers, runtime."""
    document = template.load(built / "template.yaml")
    functions = template.resources(document, "AWS::Serverless::Function")
    logical = f"{function.capitalize()}Function"
    if logical not in functions:
        known = sorted(name.removesuffix("Function").lower() for name in functions)
        raise LocalStackError(f"There is no function {function!r}; there are: {', '.join(known)}.")
    layers = template.resources(document, "AWS::Serverless::LayerVersion")
    used = [layer["Ref"] for layer in functions[logical].get("Layers", [])]
    folders = [built / functions[logical]["CodeUri"]]
    folders += [built / layers[name]["ContentUri"] / "python" for name in reversed(used)]
    return [*folders, RUNTIME]


def deployed_environment(state: State, function: str) -> dict[str, str]:
    client: LambdaClient = clients.session(state.endpoint_url).client("lambda")
    name = f"{state.stack_name}-{function}"
    told = client.get_function_configuration(FunctionName=name)
    own = told.get("Environment", {}).get("Variables", {})
    return own | {
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(told["Timeout"]),
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(told["MemorySize"]),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
    }


def call(stack: Stack, state: State, function: str, event: Any, log: Path) -> Any:
    """The handler's reply to ``event``. Raises LocalStackError when it can't be called."""
    if not RUNTIME.exists():
        raise MissingTool("The runtime's own packages are not there: run 'make tools' first.")
    code, *layers = function_paths(stack.built, function)
    port, runtime_port = (net.choose(0, what="the call", option="") for _ in range(2))
    base = getattr(sys, "_base_executable", sys.executable)
    command = [str(interface_emulator())]
    command += ["--runtime-interface-emulator-address", f"{net.HOST}:{port}"]
    command += ["--runtime-api-address", f"{net.HOST}:{runtime_port}", "--log-level", "error"]
    command += [base, "-S", "-m", "awslambdaric", "app.handler"]
    environment = emulator.bare_environment(
        {
            **emulator.client_environment(state.endpoint_url),
            **deployed_environment(state, function),
            "PYTHONPATH": os.pathsep.join(map(str, [code, *layers])),
            "LAMBDA_TASK_ROOT": str(code),
            "_HANDLER": "app.handler",
        }
    )
    process = processes.start(command, log=log, env=environment, cwd=code)
    try:
        processes.wait_until(
            lambda: not net.is_free(port), process, what="The emulator", log=log, seconds=20
        )
        request = urllib.request.Request(
            f"http://{net.HOST}:{port}/{INVOCATIONS}", data=json.dumps(event).encode()
        )
        with urllib.request.urlopen(request, timeout=320) as reply:  # noqa: S310
            text = reply.read().decode()
    except (OSError, urllib.error.URLError) as error:
        raise LocalStackError(f"The call failed: {error}. {processes.tail(log)}") from error
    finally:
        processes.stop(process, patience=2)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise LocalStackError(f"The function gave no JSON: {text[:200]}") from error


def as_if_now(event: Any, now: float) -> Any:
    """An API event moved in time so that it happens now: its token is then as old, and as good or
    as expired, as when it was recorded. Other events are returned as they are."""
    context = event.get("requestContext") if isinstance(event, dict) else None
    if not isinstance(context, dict) or not isinstance(context.get("requestTimeEpoch"), int):
        return event
    shift = int(now - context["requestTimeEpoch"] / 1000)
    moved = context | {"requestTimeEpoch": context["requestTimeEpoch"] + shift * 1000}
    told = context.get("authorizer")
    if isinstance(told, dict):
        times = {k: told[k] for k in ("issued_at", "expires_at") if str(told.get(k, "")).isdigit()}
        moved["authorizer"] = told | {k: str(int(v) + shift) for k, v in times.items()}
    return event | {"requestContext": moved}


@contextmanager
def running_stack(progress: Progress) -> Iterator[tuple[Stack, State]]:
    present = Stack(progress=progress)
    status = present.status()
    if status.running and status.state is not None:
        yield present, status.state
        return
    progress.note("No local stack runs: starting one for this call ('make up' keeps one).")
    with tempfile.TemporaryDirectory(prefix="custody-invoke-") as folder:
        stack = Stack(Path(folder), progress=progress)
        try:
            yield stack, stack.up(port=0)
        finally:
            stack.down()


def main() -> int:
    parser = argparse.ArgumentParser(prog="invoke", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("function")
    parser.add_argument("event", type=Path)
    options = parser.parse_args()
    try:
        event = json.loads(options.event.read_text())
    except OSError as error:
        print(f"{options.event} can't be read: {error.strerror}.", file=sys.stderr)
        return 2
    except json.JSONDecodeError as error:
        print(f"{options.event} is no JSON: {error}.", file=sys.stderr)
        return 2
    progress = Progress()
    log = LOCAL / "logs" / f"invoke-{options.function}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    try:
        with running_stack(progress) as (stack, state):
            moved = as_if_now(event, time.time())
            reply = call(stack, state, options.function, moved, log)
    except LocalStackError as error:
        print(error, file=sys.stderr)
        return 2
    sys.stderr.write(log.read_text(errors="replace"))
    print(json.dumps(reply, indent=2, ensure_ascii=False))
    return 1 if isinstance(reply, dict) and "errorMessage" in reply else 0


if __name__ == "__main__":
    raise SystemExit(main())
