"""``python -m custody_cli.demo [--index embedded|opensearch] [--endpoint URL] [--json]``

Exit codes: 0 every claim was so; 1 one was not; 2 the stack could not be started; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated

import typer

from custody_cli import output
from custody_cli.commands.stack import Index
from custody_cli.demo.running import FOLDER, demo_stack
from custody_cli.demo.stage import Running, Stage
from custody_cli.demo.story import play
from custody_cli.errors import NO
from custody_cli.options import Endpoint, Json, command
from custody_client import CustodyClientError
from custody_local import endpoints
from custody_local.progress import Progress

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Wiring:
    """``stack`` runs one of an index and a model, at an endpoint or (None) at one of its own, for
    as long as its block does. A test hands over another one, as ``obj`` of the program."""

    stack: Callable[[str, str, str | None, Progress], AbstractContextManager[Running]] = demo_stack


@command
def demo(
    ctx: typer.Context,
    *,
    index: Annotated[Index, typer.Option(help="opensearch needs Java 17 and Maven.")] = (
        Index.EMBEDDED
    ),
    endpoint: Endpoint = None,
    model: Annotated[str, typer.Option(envvar="CUSTODY_MODEL", help="Embedding model.")] = "minilm",
    as_json: Json = False,
) -> int:
    """Run the main job for real on a stack of its own, check every claim, leave nothing running."""
    wiring = ctx.ensure_object(Wiring)
    progress = Progress()
    began = time.monotonic()
    stage: Stage | None = None
    running: Running | None = None
    interrupted = False
    try:
        where = endpoints.named(endpoint, os.environ)
        with wiring.stack(index.value, model, where, progress) as running:
            stage = Stage(running, progress, shown=not as_json)
            _play(stage)
    except KeyboardInterrupt:
        interrupted = True
    left = running.leftovers() if running is not None else []
    if interrupted:
        told = f"still running: {', '.join(left)}" if left else "nothing is left running"
        output.note(f"Interrupted; {told}.")
        return INTERRUPTED
    assert stage is not None
    stage.checks.that("nothing is left running", not left, ", ".join(left))
    return _conclude(stage, index.value, model, time.monotonic() - began, as_json=as_json)


def _play(stage: Stage) -> None:
    """An error of the service is a claim that failed; what was seen until then is told all the
    same."""
    try:
        play(stage)
    except CustodyClientError as error:
        stage.checks.that("the service answers every call", False, error)
    finally:
        stage.close()


def _conclude(stage: Stage, index: str, model: str, seconds: float, *, as_json: bool) -> int:
    failed = stage.checks.failed
    if as_json:
        output.show_json(
            {
                "ok": not failed,
                "index": index,
                "model": model,
                "seconds": round(seconds, 1),
                "checks": [check.as_json() for check in stage.checks.made],
                **stage.record,
            }
        )
        return NO if failed else 0
    stage.heading("Result")
    stage.show_checks()
    made = len(stage.checks.made)
    if failed:
        for check in failed:
            output.note(f"FAIL {check.claim}: {check.seen}")
        output.note(f"{len(failed)} of {made} claims failed. Logs: {FOLDER}")
        return NO
    stage.show(output.text(f"All {made} claims hold ({index}, {model}, {seconds:.0f} s).", "green"))
    return 0


app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
app.command()(demo)

if __name__ == "__main__":
    sys.exit(app())
