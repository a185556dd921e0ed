from __future__ import annotations

import fcntl
import os
import shutil
import socket
import sys
import urllib.request
from pathlib import Path

import pytest

from custody_local import net, opensearch, processes
from custody_local import state as states
from custody_local.errors import LocalStackError, MissingTool, PortTaken
from custody_local.processes import Process
from custody_local.progress import Progress
from custody_local.stack import Stack
from custody_local.state import State


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path, progress=Progress(quiet=True))


def running_program(tmp_path: Path) -> Process:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    return processes.start(command, log=tmp_path / "program.log", env=os.environ)


def recorded(folder: Path, **parts: Process) -> State:
    dead_port = net.choose(0, what="nothing", option="")
    state = State(
        stack_name="custody",
        index="embedded",
        model="minilm",
        started_at="2026-01-01T00:00:00+00:00",
        ready=True,
        endpoint_url=f"http://{net.HOST}:{dead_port}",
        issuer=f"http://{net.HOST}:{dead_port}",
        processes=parts,
    )
    state.save(folder)
    return state


def test_without_a_stack_nothing_runs_and_nothing_is_stopped(stack: Stack) -> None:
    status = stack.status()
    assert (status.running, status.problems, status.state) == (False, (), None)
    assert stack.down() is False


def test_a_token_needs_a_stack(stack: Stack) -> None:
    with pytest.raises(LocalStackError, match="start one with 'custody up'"):
        stack.mint_token(tenant="acme", subject="ana")


def test_a_part_that_died_is_named(stack: Stack, tmp_path: Path) -> None:
    recorded(tmp_path, issuer=Process(pid=2**22 + 1, started="1"))
    status = stack.status()
    assert not status.running
    assert f"the token issuer (pid {2**22 + 1}) is gone" in status.problems


def test_a_part_that_runs_but_is_silent_is_named(stack: Stack, tmp_path: Path) -> None:
    program = running_program(tmp_path)
    recorded(tmp_path, emulator=program)
    try:
        assert "the local AWS does not answer" in stack.status().problems
    finally:
        assert stack.down()
    assert not processes.alive(program)


def test_down_ends_what_was_started_and_forgets_it(stack: Stack, tmp_path: Path) -> None:
    first, second = running_program(tmp_path), running_program(tmp_path)
    recorded(tmp_path, issuer=first, emulator=second)
    assert stack.down() is True
    assert not processes.alive(first)
    assert not processes.alive(second)
    assert states.load(tmp_path) is None
    assert stack.down() is False


def test_a_state_survives_its_file(tmp_path: Path) -> None:
    state = recorded(tmp_path, emulator=Process(pid=7, started="x"))
    assert states.load(tmp_path) == state


@pytest.mark.parametrize("text", ["", "{", '{"version": 99}', '{"version": 1}', "[]"])
def test_a_broken_state_file_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / states.FILE).write_text(text)
    assert states.load(tmp_path) is None


def test_a_taken_port_stops_the_start_before_anything_runs(stack: Stack, tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind((net.HOST, 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(PortTaken, match=str(port)):
            stack.up(port=port)
    assert states.load(tmp_path) is None


def test_two_commands_do_not_change_a_stack_at_once(stack: Stack, tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(LocalStackError, match="Another command"):
            stack.down()


def test_opensearch_without_java_says_how_to_get_it(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENSEARCH_URL", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"Maven is not installed.*OPENSEARCH_URL"):
        stack.up(index="opensearch", port=0)


def test_a_named_node_that_is_silent_stops_the_start(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = opensearch.url(net.choose(0, what="nothing", option=""))
    monkeypatch.setenv("OPENSEARCH_URL", address)
    with pytest.raises(LocalStackError, match="no OpenSearch answers there"):
        stack.up(index="opensearch", port=0)


def test_a_named_node_that_would_be_reached_in_the_open_stops_the_start(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENSEARCH_URL", "http://search.example:9200")
    with pytest.raises(LocalStackError, match="over https, or on this machine"):
        stack.up(index="opensearch", port=0)


@pytest.mark.slow
@pytest.mark.emulator
@pytest.mark.timeout(600)
def test_a_half_dead_stack_is_cleaned_and_a_live_one_deployed_again(
    stack: Stack, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = Stack(tmp_path)
    try:
        first = told.up(port=0)
        before = dict(first.processes)
        with urllib.request.urlopen(f"{first.api_url}/health") as reply:
            assert reply.status == 200
        assert told.status().running

        again = told.up(port=0)
        assert again.processes == before
        assert "already running" in capfd.readouterr().err
        with pytest.raises(LocalStackError, match=r"is already running .*: stop it"):
            told.up(index="opensearch", port=0)

        processes.stop(before["issuer"])
        fresh = told.up(port=0)
        assert "An earlier stack is half dead (the token issuer" in capfd.readouterr().err
        assert not any(processes.alive(p) for p in before.values())
        assert told.status().running
    finally:
        stack.down()
    assert not any(processes.alive(p) for p in fresh.processes.values())
    assert not (tmp_path / "aws" / "tmp").exists()
    shutil.rmtree(tmp_path / "aws", ignore_errors=True)
