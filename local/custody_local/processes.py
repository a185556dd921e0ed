"""Start, watch and end child processes that outlive us, known by pid and start time.

A pid alone may have been given to a stranger since; the start time tells them apart, so nothing
that this package didn't start is ever signalled.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from custody_local.errors import LocalStackError


@dataclass(frozen=True, slots=True)
class Process:
    """``started`` is what the system says of the process's start; compared, never parsed."""

    pid: int
    started: str


def _start_mark(pid: int) -> str | None:
    """None: there is no such process, or it is a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            # After the command's name, which may hold anything but is closed by the last ")".
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in {"Z", "X"} else fields[19]
    shown = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], check=False, capture_output=True, text=True
    )
    state, _, mark = shown.stdout.strip().partition(" ")
    return None if not mark or state.startswith("Z") else mark.strip()


def start(
    command: Sequence[str], *, log: Path, env: Mapping[str, str], cwd: Path | None = None
) -> Process:
    """Start in a session of its own, output to ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        child = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    # Still ours, so it can't have been replaced; a child that died at once has an empty mark.
    process = Process(pid=child.pid, started=_start_mark(child.pid) or "")
    # It outlives this object on purpose; without this, Popen warns when it is collected.
    child.returncode = 0
    return process


def alive(process: Process) -> bool:
    _reap(process.pid)
    return bool(process.started) and _start_mark(process.pid) == process.started


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):  # started by another process, or collected before
        os.waitpid(pid, os.WNOHANG)


def stop(process: Process, *, patience: float = 10.0) -> bool:
    """End it and what it started in its session. True: it was running."""
    if not alive(process):
        return False
    _signal_group(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while alive(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    _signal_group(process.pid, signal.SIGKILL)
    while alive(process):
        time.sleep(0.02)
    return True


def _signal_group(pid: int, number: signal.Signals) -> None:
    # The whole group may be gone (macOS answers EPERM for a group of zombies).
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)  # it leads its own session, so its group is its own too


def wait_until(
    ready: Callable[[], bool], process: Process, *, what: str, log: Path, seconds: float
) -> None:
    """Raises LocalStackError, with the log's last lines, when it dies or takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        if not alive(process):
            raise LocalStackError(f"{what} ended while starting. Its log says: {tail(log)}")
        if time.monotonic() > deadline:
            raise LocalStackError(
                f"{what} did not answer within {seconds:.0f} s. Its log says: {tail(log)}"
            )
        time.sleep(0.1)


def tail(log: Path, lines: int = 4) -> str:
    try:
        text = log.read_text(errors="replace").strip()
    except FileNotFoundError:
        return f"(nothing in {log})"
    return " | ".join(text.splitlines()[-lines:]) or f"(nothing in {log})"


def of(pid: int) -> Process:
    """A running process by its pid, as ``alive`` will know it."""
    return Process(pid=pid, started=_start_mark(pid) or "")
