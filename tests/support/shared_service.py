"""One running service for all test processes of this machine.

Test workers, and test runs started at the same time, meet at a file lock: the first starts the
service, the last to leave stops it. Users are known by pid and start time, so one that was killed
doesn't keep the service running.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from custody_local import processes
from custody_local.paths import LOCAL
from custody_local.processes import Process

type Details = dict[str, Any]
FOLDER = LOCAL / "test-services"


@contextmanager
def _locked(name: str) -> Iterator[Path]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield FOLDER / f"{name}.json"


def _read(path: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {"users": [], "details": None}
    state["users"] = [u for u in state["users"] if processes.alive(Process(**u))]
    return state


@contextmanager
def shared_service(
    name: str,
    *,
    start: Callable[[], Details],
    healthy: Callable[[Details], bool],
    stop: Callable[[Details], None],
) -> Iterator[Details]:
    """``start`` returns JSON-able details that ``healthy`` and ``stop`` get, in any process."""
    me = asdict(processes.of(os.getpid()))
    with _locked(name) as path:
        state = _read(path)
        if state["details"] is not None and not healthy(state["details"]):
            stop(state["details"])
            state["details"] = None
        if state["details"] is None:
            state["details"] = start()
        state["users"].append(me)
        path.write_text(json.dumps(state))
    try:
        yield state["details"]
    finally:
        with _locked(name) as path:
            state = _read(path)
            if me in state["users"]:
                state["users"].remove(me)
            if state["users"] or state["details"] is None:
                path.write_text(json.dumps(state))
            else:
                stop(state["details"])
                path.unlink()
