"""The real local AWS for tests: bare (an emulator alone), or with the whole service deployed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from custody_local import emulator, net, processes
from custody_local.processes import Process
from custody_local.progress import Progress
from custody_local.stack import Stack
from tests.support.shared_service import Details, shared_service


def _folder(purpose: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"custody-{purpose}-"))


def _start_emulator() -> Details:
    folder = _folder("emulator")
    port = net.choose(0, what="the local AWS", option="")
    process = emulator.start(folder, port, Progress(quiet=True))
    return {"url": emulator.url(port), "folder": str(folder), "process": asdict(process)}


def _stop_emulator(details: Details) -> None:
    processes.stop(Process(**details["process"]))
    shutil.rmtree(details["folder"], ignore_errors=True)


@contextmanager
def bare_emulator() -> Iterator[str]:
    """Its endpoint URL. Shared: put a name of your own in every resource's name."""
    with shared_service(
        "emulator",
        start=_start_emulator,
        stop=_stop_emulator,
        healthy=lambda details: emulator.answers(details["url"]),
    ) as details:
        yield str(details["url"])


@contextmanager
def deployed_stack() -> Iterator[Stack]:
    """The whole service. Shared: use tenants of your own.

    CUSTODY_TEST_INDEX (embedded, opensearch) chooses the index; CUSTODY_TEST_ENFORCE_IAM=1 makes
    the emulator hold every call to the policies of its role.
    """
    index = "opensearch" if os.environ.get("CUSTODY_TEST_INDEX") == "opensearch" else "embedded"
    enforced = os.environ.get("CUSTODY_TEST_ENFORCE_IAM") == "1"

    def start() -> Details:
        folder = _folder("stack")
        try:
            Stack(folder).up(port=0, index=index, enforce_iam=enforced)  # type: ignore[arg-type]  # one of the two
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return {"folder": str(folder)}

    def stop(details: Details) -> None:
        folder = Path(details["folder"])
        if folder.exists():
            Stack(folder, progress=Progress(quiet=True)).down()
            shutil.rmtree(folder, ignore_errors=True)

    def healthy(details: Details) -> bool:
        """Others may be using it: on a busy machine one slow answer is no death."""
        stack = Stack(Path(details["folder"]))
        return any(stack.status().running for _ in range(5))

    name = f"stack-{index}{'-iam' if enforced else ''}"
    with shared_service(name, start=start, stop=stop, healthy=healthy) as details:
        yield Stack(Path(details["folder"]), progress=Progress(quiet=True))
