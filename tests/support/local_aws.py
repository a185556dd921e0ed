"""The local AWS for tests: CUSTODY_TEST_AWS_ENDPOINT where set, else an emulator of our own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from custody_local import emulator, net, processes
from custody_local.errors import MissingTool
from custody_local.processes import Process
from custody_local.progress import Progress
from tests.support.shared_service import Details, shared_service


def _start() -> Details:
    folder = Path(tempfile.mkdtemp(prefix="custody-aws-"))
    port = net.choose(0, what="The local AWS", option="")
    process = emulator.start(folder, port, Progress(quiet=True))
    return {"url": emulator.url(port), "folder": str(folder), "process": asdict(process)}


def _stop(details: Details) -> None:
    processes.stop(Process(**details["process"]))
    shutil.rmtree(details["folder"], ignore_errors=True)


@contextmanager
def local_aws() -> Iterator[str]:
    """The endpoint. Use names of your own for what you create: the emulator is shared."""
    given = os.environ.get("CUSTODY_TEST_AWS_ENDPOINT")
    if given:
        yield given.rstrip("/")
        return
    try:
        with shared_service(
            "aws", start=_start, stop=_stop, healthy=lambda d: emulator.answers(d["url"])
        ) as details:
            yield str(details["url"])
    except MissingTool as lack:
        pytest.fail(f"no local AWS: {lack}")
