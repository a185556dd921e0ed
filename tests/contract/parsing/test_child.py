"""What code that a document has taken over can do in the child that reads it: nothing but answer.

``tests/support/hostile_reader.py`` runs in the child in place of a reader and tries.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from custody.adapters.parsers import isolation
from custody.adapters.parsers.format_parser import FormatParser
from custody.adapters.parsers.isolation import read_isolated
from custody.adapters.parsers.limits import Limits
from custody.domain.text import media
from custody.domain.text.media import Media
from custody.errors import Rejected, Unavailable
from tests.support.hostile_reader import Target, try_it

HOSTILE = "tests.support.hostile_reader"
UNFILTERED = "tests.support.hostile_reader_unfiltered"
SECRET = b"AWS_SECRET_ACCESS_KEY=very-secret"

# The limits alone refuse these, on every Linux; the filter refuses them once more.
LIMITED = [
    "environment of the parent",
    "memory of the parent",
    "memory map of the parent",
    "descriptors of the parent",
    "command of the parent",
    "own environment",
    "environment of the first process",
    "a file",
    "a folder",
    "read memory",
    "write memory",
    "trace",
    "tcp",
    "udp",
    "unix socket",
    "socket pair",
    "pipe",
    "pidfd",
    "fork",
    "thread",
    "spawn",
    "write a file",
    "temporary file",
    "grow a file",
    "raise own limits",
    "descriptors",
]
# What these do elsewhere depends on the machine, and on what this process gave up itself.
OF_THE_CHILD = {
    "descriptors",
    "raise own limits",
    "environment of the first process",
    "own environment",
}
# Only the filter refuses these to a child of the parent's own user.
FILTERED = [
    "signal the parent",
    "signal everybody",
    "limit the parent",
    "exec",
    "make a folder",
    "remove a file",
    "rename a file",
    "empty a file",
    "machine code",
]


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """This process, as the function that has credentials and an API on the loopback device; and a
    folder where everybody may write."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    secret = ctypes.create_string_buffer(SECRET, len(SECRET))
    with TemporaryDirectory() as scratch, socket.create_server(("127.0.0.1", 0)) as runtime_api:
        there = Path(scratch, "there")
        there.write_bytes(b"x")
        there.chmod(0o666)
        Path(scratch).chmod(0o777)
        port: int = runtime_api.getsockname()[1]
        yield Target(os.getpid(), ctypes.addressof(secret), len(SECRET), port, scratch)


def attacked(
    attack: str, target: Target, *, worker: str = HOSTILE, limits: Limits | None = None
) -> str:
    content = json.dumps({"attack": attack, **asdict(target)}).encode()
    reading = read_isolated(content, Media(media.TEXT), limits or Limits(), worker=worker)
    return reading.pieces[0].text


@pytest.mark.parametrize("attack", [*LIMITED, *FILTERED])
def test_the_child_can_reach_nothing(attack: str, target: Target) -> None:
    assert attacked(attack, target).startswith("refused ")
    assert Path(target.scratch, "there").read_bytes() == b"x"


@pytest.mark.parametrize("attack", LIMITED)
def test_where_there_is_no_filter_the_limits_hold(attack: str, target: Target) -> None:
    assert attacked(attack, target, worker=UNFILTERED).startswith("refused ")


@pytest.mark.parametrize("attack", [each for each in LIMITED if each not in OF_THE_CHILD])
def test_the_same_attack_succeeds_where_nothing_confines_it(attack: str, target: Target) -> None:
    """Or the tests above would show nothing."""
    holder = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        if attack in {"memory of the parent", "read memory", "write memory"}:
            # What is mapped there is the holder's own: any readable part of it will do.
            lines = Path(f"/proc/{holder.pid}/maps").read_text().splitlines()
            heap = next(line for line in lines if " rw-p " in line)
            target = replace(target, address=int(heap.partition("-")[0], 16))
        assert try_it(attack, replace(target, holder=holder.pid)).startswith("gained ")
    finally:
        holder.kill()
        holder.communicate()


def test_the_child_sees_no_variable_but_where_python_lies(target: Target) -> None:
    told = attacked("own variables", target)
    assert "PYTHONPATH" in told
    assert "AWS" not in told
    assert "very-secret" not in told


def test_a_child_that_is_not_shut_in_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "open_worker.py").write_text(
        "from custody.adapters.parsers import confinement, worker\n"
        "confinement.confine = worker.confine = lambda limits, *, filtered: None\n"
        "worker.main()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable) as unavailable:
        read_isolated(b"x", Media(media.TEXT), Limits(), worker="open_worker")
    assert unavailable.value.code == "parser-unavailable"
    for wall in ("open a file", "make a socket", "make a process"):
        assert wall in unavailable.value.detail


# A worker of a user without rights, as in Lambda, where no filter of system calls is to be had.
OF_ANOTHER_USER = """
import ctypes, os
from custody.adapters.parsers import reading, worker
from tests.support import hostile_reader
reading.load()
if os.geteuid() == 0:
    os.setresgid(12_345, 12_345, 12_345)
    os.setresuid(12_345, 12_345, 12_345)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a change of user closes memory too
"""


@pytest.mark.parametrize("attack", ["trace", "read memory", "write memory"])
def test_the_worker_is_out_of_reach_for_a_child_of_its_own_user(
    attack: str, target: Target, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is bound by nothing, so whoever gets into it is out."""
    (tmp_path / "own_worker.py").write_text(
        OF_ANOTHER_USER + "worker.main(hostile_reader.read, has_filter=lambda: False)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    isolation.start(worker="own_worker")
    (waiting,) = isolation._IDLE.workers[os.getpid(), "own_worker"]
    aimed = replace(target, holder=waiting._process.pid)
    assert attacked(attack, aimed, worker="own_worker") == "refused EPERM"
    waiting.close()


def test_a_worker_that_its_child_can_reach_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bare_worker.py").write_text(
        OF_ANOTHER_USER
        + "worker.close_own_memory = lambda: None\n"
        + "worker.main(has_filter=lambda: False)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable) as unavailable:
        read_isolated(b"x", Media(media.TEXT), Limits(), worker="bare_worker")
    assert unavailable.value.code == "parser-unavailable"
    for wall in ("read the worker's memory", "trace the worker"):
        assert wall in unavailable.value.detail


# Of root in a container where there is no user to become.
LONELY = """
import errno, os
from custody.adapters.parsers import worker
def missing(*ids):
    raise OSError(errno.EINVAL, "not mapped")
os.geteuid, os.setresgid = lambda: 0, missing
"""


def test_a_root_that_can_become_nobody_is_held_by_the_filter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lonely_worker.py").write_text(LONELY + "worker.main()\n")
    monkeypatch.syspath_prepend(tmp_path)
    reading = read_isolated(b"x", Media(media.TEXT), Limits(), worker="lonely_worker")
    assert reading.pieces[0].text == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="the limits bind everybody but root")
def test_a_root_that_nothing_holds_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "free_worker.py").write_text(LONELY + "worker.main(has_filter=lambda: False)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable, match="not shut in here: it can") as unavailable:
        read_isolated(b"x", Media(media.TEXT), Limits(), worker="free_worker")
    assert unavailable.value.code == "parser-unavailable"


@pytest.mark.parametrize("fault", ["OSError(1, 'not here')", "MemoryError", "AttributeError"])
def test_a_child_that_cannot_shut_itself_in_blames_no_document(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = f"loose_worker_{fault[:3]}"
    (tmp_path / f"{module}.py").write_text(
        "from custody.adapters.parsers import worker\n"
        "def refuse(limits, *, filtered):\n"
        f"    raise {fault}\n"
        "worker.confine = refuse\n"
        "worker.main()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable) as unavailable:
        read_isolated(b"x", Media(media.TEXT), Limits(), worker=module)
    assert unavailable.value.code == "parser-unavailable"


@pytest.mark.parametrize("attack", ["spin", "spin on"])
def test_processor_time_ends_the_child(attack: str, target: Target) -> None:
    with pytest.raises(Rejected) as refused:
        attacked(attack, target, limits=Limits(seconds=1))
    assert refused.value.code == "document-too-complex"
    assert "1 seconds of processor time" in refused.value.detail


def test_a_child_that_ignores_the_end_of_its_time_is_ended(target: Target) -> None:
    with pytest.raises(Rejected) as refused:
        attacked("spin on", target, worker=UNFILTERED, limits=Limits(seconds=1))
    assert refused.value.code == "document-too-complex"
    assert "breaks its parser" in refused.value.detail  # killed, before its time on the wall


@pytest.mark.parametrize("worker", [HOSTILE, UNFILTERED])
def test_a_child_that_only_waits_is_ended_too(worker: str, target: Target) -> None:
    began = time.monotonic()
    with pytest.raises(Rejected) as refused:
        attacked("wait for ever", target, worker=worker, limits=Limits(seconds=1))
    assert time.monotonic() - began < isolation._GRACE_SECONDS  # it was not the parent that did
    assert refused.value.code == "document-too-complex"
    assert "4 seconds" in refused.value.detail


@pytest.mark.parametrize(
    ("attack", "detail"),
    [
        ("hoard", "more memory"),
        ("crash", "breaks its parser"),
        ("say nonsense", "breaks its parser"),
        ("say nothing", "breaks its parser"),
        ("say another form", "breaks its parser"),
        ("say many pieces", "breaks its parser"),
        ("say too much", "breaks its parser"),
    ],
)
def test_a_child_that_dies_or_lies_costs_its_own_document_only(
    attack: str, detail: str, target: Target
) -> None:
    with pytest.raises(Rejected) as refused:
        attacked(attack, target, limits=Limits(memory_bytes=200_000_000, characters=100_000))
    assert refused.value.code == "document-too-complex"
    assert detail in refused.value.detail
    assert attacked("own variables", target).startswith("gained ")


def test_a_parser_that_cannot_load_blames_no_document() -> None:
    with pytest.raises(Unavailable) as unavailable:
        read_isolated(b"x", Media(media.TEXT), Limits(), worker="custody.missing")
    assert unavailable.value.code == "parser-unavailable"


def test_a_worker_that_takes_too_long_to_load_blames_no_document(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "slow_worker.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(isolation, "_START_SECONDS", 0.1)
    with pytest.raises(Unavailable) as unavailable:
        read_isolated(b"x", Media(media.TEXT), Limits(), worker="slow_worker")
    assert unavailable.value.code == "parser-unavailable"


def test_an_attempt_that_breaks_is_no_proof(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "odd_worker.py").write_text(
        "from custody.adapters.parsers import confinement, worker\n"
        "confinement._trace = lambda holder: 1 / 0\n"
        "worker.main()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable) as unavailable:
        read_isolated(b"x", Media(media.TEXT), Limits(), worker="odd_worker")
    assert "trace the parent" in unavailable.value.detail


def test_a_document_as_large_as_may_be_reaches_the_child_whole() -> None:
    text = "word " * 1_999_999 + "end"
    assert (
        FormatParser().parse(text.encode(), content_type=media.TEXT, name="x").blocks[0].text
        == text
    )


def test_many_at_a_time_each_get_their_own(target: Target) -> None:
    parser = FormatParser()

    def read(number: int) -> str:
        content = f"document {number}".encode()
        return parser.parse(content, content_type=media.TEXT, name="x").blocks[0].text

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, range(40))) == [f"document {n}" for n in range(40)]


def test_a_worker_that_dies_over_a_document_takes_its_child_along(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child holds the document, and would go on for as long as a document may take."""
    isolation.start(worker=HOSTILE)
    waiting = isolation._IDLE.workers[os.getpid(), HOSTILE][-1]
    number, hear = waiting._process.pid, waiting._hear
    children = Path(f"/proc/{number}/task/{number}/children")
    seen: list[str] = []

    def hear_of_its_end(deadline: float) -> bytes:
        if not waiting._checked:
            return hear(deadline)
        while not seen:
            seen.extend(children.read_text().split())
        os.kill(number, signal.SIGKILL)
        os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
        return hear(deadline)

    monkeypatch.setattr(waiting, "_hear", hear_of_its_end)
    monkeypatch.setattr(isolation, "_read", lambda *_: b"")
    with pytest.raises(Unavailable) as unavailable:
        attacked("wait for ever", target)
    assert unavailable.value.code == "parser-unavailable"
    (child,) = seen
    for _ in range(100):
        status = Path(f"/proc/{child}/stat")
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the child lives")


def test_a_worker_that_is_gone_costs_no_descriptor() -> None:
    isolation.start()
    gone = isolation._IDLE.take("custody.adapters.parsers.worker")
    gone._check()
    gone._process.kill()
    gone._process.wait()
    before = os.listdir("/proc/self/fd")  # noqa: PTH208
    with pytest.raises(isolation._Gone):
        gone.read(b"x", b"{}", Limits())
    assert os.listdir("/proc/self/fd") == before  # noqa: PTH208
    gone.close()


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_another_platform_is_told_what_it_lacks(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(Unavailable, match=f"Linux only.*{platform}") as unavailable:
        isolation._Worker("custody.adapters.parsers.worker")
    assert unavailable.value.code == "parser-unavailable"


def test_a_worker_that_was_killed_is_replaced() -> None:
    parser = FormatParser()
    with isolation._IDLE.lock:
        (waiting,) = [
            worker
            for (_, module), workers in isolation._IDLE.workers.items()
            for worker in workers[-1:]
            if module == "custody.adapters.parsers.worker"
        ]
    waiting._process.kill()
    waiting._process.wait()
    assert parser.parse(b"again", content_type=media.TEXT, name="x").blocks[0].text == "again"


def test_the_process_that_has_credentials_closes_its_memory() -> None:
    get_dumpable, set_dumpable = 3, 4
    libc = ctypes.CDLL(None)
    libc.prctl(set_dumpable, 1, 0, 0, 0)
    isolation._Worker("custody.adapters.parsers.worker").close()
    assert libc.prctl(get_dumpable, 0, 0, 0, 0) == 0


def test_a_child_that_outlives_its_time_is_killed_with_its_worker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: Target
) -> None:
    (tmp_path / "patient_worker.py").write_text(
        "import signal\n"
        "from custody.adapters.parsers import worker\n"
        "from tests.support import hostile_reader\n"
        "signal.setitimer = lambda which, seconds: None\n"
        "worker.main(hostile_reader.read)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(isolation, "_GRACE_SECONDS", 0)
    with pytest.raises(Rejected) as refused:
        attacked("wait for ever", target, worker="patient_worker", limits=Limits(seconds=1))
    assert refused.value.code == "document-too-complex"
    assert isolation._IDLE.workers.get((os.getpid(), "patient_worker"), []) == []
