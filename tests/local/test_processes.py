from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from custody_local import processes
from custody_local.errors import LocalStackError
from custody_local.processes import Process

# Says when it is ready, so that no test waits for a guess; ignores SIGTERM when asked to.
SLEEPER = """
import signal, subprocess, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "parent" in sys.argv:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print("child", child.pid, flush=True)
print("ready", flush=True)
time.sleep(60)
"""


def started(tmp_path: Path, *arguments: str) -> tuple[Process, Path]:
    log = tmp_path / "log"
    process = processes.start([sys.executable, "-c", SLEEPER, *arguments], log=log, env=os.environ)
    processes.wait_until(
        lambda: "ready" in log.read_text(), process, what="The sleeper", log=log, seconds=20
    )
    return process, log


def test_a_stopped_process_is_gone(tmp_path: Path) -> None:
    process, _ = started(tmp_path)
    assert processes.alive(process)
    assert processes.stop(process)
    assert not processes.alive(process)
    assert not processes.stop(process)


def test_a_process_that_ignores_the_polite_signal_is_killed(tmp_path: Path) -> None:
    process, _ = started(tmp_path, "stubborn")
    assert processes.stop(process, patience=0.2)
    assert not processes.alive(process)


def test_what_a_process_started_ends_with_it(tmp_path: Path) -> None:
    process, log = started(tmp_path, "parent")
    child = processes.of(int(log.read_text().split()[1]))
    assert processes.alive(child)
    processes.stop(process)
    deadline = time.monotonic() + 5  # signals are delivered when the system comes to it
    while processes.alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not processes.alive(child)


def test_a_pid_that_now_belongs_to_another_process_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        real = processes.of(stranger.pid)
        assert processes.alive(real)
        mistaken = Process(pid=stranger.pid, started=f"{real.started}0")
        assert not processes.alive(mistaken)
        assert not processes.stop(mistaken)
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_a_process_that_dies_while_starting_shows_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", "raise SystemExit('no such setting: x')"]
    process = processes.start(command, log=log, env=os.environ)
    with pytest.raises(LocalStackError, match=r"The part ended while starting.*no such setting: x"):
        processes.wait_until(lambda: False, process, what="The part", log=log, seconds=20)


def test_a_process_that_never_answers_is_told_apart_from_a_dead_one(tmp_path: Path) -> None:
    process, log = started(tmp_path)
    with pytest.raises(LocalStackError, match="did not answer within 0 s"):
        processes.wait_until(lambda: False, process, what="The part", log=log, seconds=0)
    processes.stop(process)
