"""Read a document in a child process that can be killed, and that has nothing to give away.

Parsers are much code on bytes from anywhere, some of it native, and a document can be made to cost
more than any check beforehand finds. So no format is read in the process that has credentials. The
child has an empty environment, two pipes, limits on time and memory, and no way to anything else
(``confinement``).
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from io import FileIO

from custody.adapters.parsers import wire
from custody.adapters.parsers.confinement import close_own_memory
from custody.adapters.parsers.draft import Reading
from custody.adapters.parsers.limits import Limits
from custody.domain.text.media import Media
from custody.errors import Rejected, Unavailable

_WORKER = "custody.adapters.parsers.worker"
_START_SECONDS = 60
# The child ends itself; beyond its own time it is given this much before it is killed.
_GRACE_SECONDS = 10
_CHUNK = 1 << 20


class _Gone(Exception):
    """The worker doesn't answer."""


class _Worker:
    """One process that reads one document at a time."""

    def __init__(self, module: str) -> None:
        if sys.platform != "linux":
            raise Unavailable(
                "Documents are read on Linux only: what shuts the parser's child in is not to be "
                f"had on {sys.platform}.",
                code="parser-unavailable",
            )
        close_own_memory()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    cwd="/",
                    env=_environment(),
                    # Not ended by what ends a terminal's programs: it ends with this process.
                    start_new_session=True,
                )
            except OSError as error:
                self._control.close()
                raise Unavailable(
                    "The parser can't be started.", code="parser-unavailable"
                ) from error
        self._checked = False

    @property
    def alive(self) -> bool:
        """It is not buried yet where it is dead, so that its number stays its own."""
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self._process.pid, how) is None
        except ChildProcessError:
            return False  # somebody else did

    def read(self, content: bytes, request: bytes, limits: Limits) -> tuple[bytes | bytearray, int]:
        """The child's reply and its exit code. Raises _Gone, TimeoutError, Unavailable."""
        self._check()
        deadline = time.monotonic() + limits.wall_seconds + _GRACE_SECONDS
        with ExitStack() as ends:
            source, feed = _pipe(ends)
            drain, target = _pipe(ends)
            try:
                socket.send_fds(self._control, [request], [source.fileno(), target.fileno()])
            except OSError as error:
                raise _Gone from error
            source.close()
            target.close()
            _write(feed.fileno(), content, deadline)
            feed.close()
            reply = _read(drain.fileno(), wire.reply_bytes(limits), deadline)
        return reply, int(self._hear(deadline))

    def _check(self) -> None:
        if self._checked:
            return
        try:
            found = json.loads(self._hear(time.monotonic() + _START_SECONDS))["breaches"]
        except TimeoutError as error:
            raise _Gone from error  # no document is to blame for that
        if found:
            raise Unavailable(
                f"The parser's child is not shut in here: it can {', '.join(found)}.",
                code="parser-unavailable",
            )
        self._checked = True

    def _hear(self, deadline: float) -> bytes:
        self._control.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            message = self._control.recv(_CHUNK)
        except ConnectionError as error:
            raise _Gone from error
        if not message:
            raise _Gone
        return message

    def close(self) -> None:
        """With whatever it started."""
        self._control.close()
        # A worker that died may have left a child behind, in the group that has its number.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@dataclass(slots=True)
class _Idle:
    """Workers that wait for a document, by their module. A process that was forked from this one
    has none: two that listen on one socket would hear each other's replies."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    workers: dict[tuple[int, str], list[_Worker]] = field(default_factory=dict)

    def take(self, module: str) -> _Worker:
        with self.lock:
            waiting = self.workers.get((os.getpid(), module), [])
            while waiting:
                worker = waiting.pop()
                if worker.alive:
                    return worker
                worker.close()
        return _Worker(module)

    def give_back(self, module: str, worker: _Worker) -> None:
        with self.lock:
            self.workers.setdefault((os.getpid(), module), []).append(worker)

    def close(self) -> None:
        with self.lock:
            for (process, _), waiting in self.workers.items():
                while process == os.getpid() and waiting:
                    waiting.pop().close()


_IDLE = _Idle()
atexit.register(_IDLE.close)


def start(*, worker: str = _WORKER) -> None:
    """Have a worker load while there is other work. Raises Unavailable(parser-unavailable)."""
    _IDLE.give_back(worker, _IDLE.take(worker))


def read_isolated(content: bytes, kind: Media, limits: Limits, *, worker: str = _WORKER) -> Reading:
    """As ``reading.read``, in a child of the module ``worker``. Raises Rejected, also
    ``document-too-complex`` when the child ran out of time or memory or died;
    Unavailable(parser-unavailable) when there is no child, or one that isn't shut in."""
    reader = _IDLE.take(worker)
    try:
        reply, code = reader.read(content, wire.ask(kind, limits), limits)
    except TimeoutError as error:
        reader.close()
        raise _too_slow(f"{limits.wall_seconds} seconds") from error
    except _Gone as error:
        reader.close()
        raise Unavailable("The parser can't be loaded.", code="parser-unavailable") from error
    except BaseException:
        reader.close()
        raise
    _IDLE.give_back(worker, reader)
    if code == wire.NOT_CONFINED:
        raise Unavailable("The parser's child can't be shut in.", code="parser-unavailable")
    if code == -signal.SIGXCPU:
        raise _too_slow(f"{limits.seconds} seconds of processor time")
    if code == -signal.SIGALRM:
        raise _too_slow(f"{limits.wall_seconds} seconds")
    if code == wire.OUT_OF_MEMORY:
        raise Rejected(
            "The document needs more memory to read than there is.", code="document-too-complex"
        )
    if code != 0:
        raise _broken()
    try:
        return wire.answered(reply, limits)
    except wire.NotAReply as error:
        raise _broken() from error


def _pipe(ends: ExitStack) -> tuple[FileIO, FileIO]:
    """Where it is read and where it is written; ``ends`` closes both."""
    reading, writing = os.pipe()
    return ends.enter_context(FileIO(reading, "r")), ends.enter_context(FileIO(writing, "w"))


def _write(pipe: int, content: bytes, deadline: float) -> None:
    os.set_blocking(pipe, False)
    left = memoryview(content)
    while left:
        _wait(pipe, select.POLLOUT, deadline)
        try:
            left = left[os.write(pipe, left[:_CHUNK]) :]
        except BrokenPipeError:
            return  # a child that died: its status says why


def _read(pipe: int, limit: int, deadline: float) -> bytearray:
    """Until the child closes it, or has said more than it may: then it can't say the rest."""
    reply = bytearray()
    while len(reply) <= limit:
        _wait(pipe, select.POLLIN, deadline)
        part = os.read(pipe, _CHUNK)
        if not part:
            break
        reply += part
    return reply


def _wait(pipe: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(0, deadline - time.monotonic()) * 1000):
        raise TimeoutError


def _too_slow(what: str) -> Rejected:
    return Rejected(f"The document takes more than {what} to read.", code="document-too-complex")


def _broken() -> Rejected:
    return Rejected(
        "The document breaks its parser, or needs more memory than it has.",
        code="document-too-complex",
    )


def _environment() -> dict[str, str]:
    """No credentials: what reads a hostile document must have nothing to give away."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C.UTF-8"}
