"""The demo's own stack: apart from a stack that runs already, and gone when the demo ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from custody_cli.demo.stage import Person
from custody_cli.local import LocalStatus, credentials
from custody_local import clients, net, processes, removal
from custody_local.paths import LOCAL
from custody_local.progress import Progress
from custody_local.stack import Stack
from custody_local.state import State

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient

FOLDER = LOCAL / "demo"
STACK_NAME = "custody-demo"  # beside a stack that is there already


class DemoStack:
    """On free ports, in a folder of its own."""

    def __init__(self, stack: Stack, state: State) -> None:
        self._stack = stack
        self._state = state
        self.api_url = state.api_url
        self.bucket = state.bucket
        self.endpoint_url = state.endpoint_url
        self.aws: Mapping[str, str] = credentials(LocalStatus(True, region=state.region))
        # Copied, since stopping changes the state.
        self._processes = dict(state.processes)
        self._ports = dict(state.ports)

    def token(self, person: Person, scopes: tuple[str, ...]) -> str:
        return self._stack.mint_token(
            tenant=person.tenant, subject=person.name, groups=person.groups, scopes=scopes
        )

    def public_key(self) -> bytes:
        kms: KMSClient = clients.session(self.endpoint_url).client("kms")
        arn = self._state.outputs["IngestionKeyArn"]
        return kms.get_public_key(KeyId=arn)["PublicKey"]

    def leftovers(self) -> list[str]:
        """What should have ended and has not: parts, ports, and workers of the local AWS, or the
        stack in an AWS that goes on."""
        parts = [
            f"{name} (pid {process.pid})"
            for name, process in self._processes.items()
            if processes.alive(process)
        ]
        ports = [f"port {port}" for port in self._ports.values() if not net.is_free(port)]
        return parts + ports + self._left_there()

    def _left_there(self) -> list[str]:
        if not self._state.elsewhere:
            return [f"worker {pid}" for pid in _started_by(self.endpoint_url)]
        name = self._state.stack_name
        left = removal.present(clients.session(self.endpoint_url), name)
        return [f"the stack {name} at {self.endpoint_url}"] if left else []


@contextmanager
def demo_stack(
    index: str,
    model: str,
    endpoint: str | None,
    progress: Progress,
    *,
    folder: Path = FOLDER,
    make: Callable[..., Stack] = Stack,
) -> Iterator[DemoStack]:
    """Up for as long as the block runs; down on success, failure, Ctrl-C and SIGTERM.
    ``endpoint``: an AWS that runs already, and goes on running."""
    stack = make(folder, progress=progress)
    with _terminated_as_interrupt():
        stack.down()  # what a killed demo may have left
        try:
            state = stack.up(
                index=cast("Literal['embedded', 'opensearch']", index),
                model=model,
                endpoint=endpoint,
                port=0,
                stack_name=STACK_NAME,
            )
            yield DemoStack(stack, state)
        finally:
            with _not_interrupted():
                stack.down()


def _started_by(endpoint_url: str) -> list[int]:
    """Processes that were told this endpoint, where the system shows their environment."""
    needle = f"AWS_ENDPOINT_URL={endpoint_url}\0".encode()
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            told = entry.read_bytes()
        except OSError:  # ended meanwhile, or another user's
            continue
        if needle in told and int(entry.parent.name) != os.getpid():
            found.append(int(entry.parent.name))
    return found


@contextmanager
def _terminated_as_interrupt() -> Iterator[None]:
    """SIGTERM runs the same clean-up as Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """A second Ctrl-C doesn't leave things running."""
    before = {kind: signal.signal(kind, signal.SIG_IGN) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
