"""A reader that does what hostile code in the parser's child would try, and tells what came of it.

Run as the worker's module in place of the real one. The document names the attack and what it is
aimed at: the fields of ``Target`` and ``attack``. Not shipped: it lies with the tests.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from custody.adapters.parsers import worker
from custody.adapters.parsers.draft import Piece, Reading
from custody.adapters.parsers.limits import Limits
from custody.domain.text.media import Media

_PTRACE_SEIZE = 0x4206
_PIDFD_OPEN = 434  # on both machines
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Target:
    """``address``: where the holder keeps a secret of ``size`` bytes."""

    holder: int
    address: int
    size: int
    port: int
    scratch: str


def try_it(attack: str, target: Target) -> str:
    """What the attack gained, or ``refused`` with the name of the error."""
    try:
        return f"gained {ATTACKS[attack](target)!r}"
    except OSError as error:
        return f"refused {errno.errorcode.get(error.errno or 0, str(error))}"
    except (RuntimeError, ValueError, subprocess.SubprocessError) as error:
        return f"refused {error}"  # can't start new thread; not allowed to raise maximum limit


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


class _Part(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _memory(call: str) -> Callable[[Target], object]:
    def run(target: Target) -> object:
        own = ctypes.create_string_buffer(b"x" * target.size, target.size)
        here = _Part(ctypes.addressof(own), target.size)
        there = _Part(target.address, target.size)
        one = ctypes.c_ulong(1)
        function = getattr(_LIBC, call)
        _checked(function(target.holder, ctypes.byref(here), one, ctypes.byref(there), one, 0))
        return own.raw

    return run


def _read(path: str) -> Callable[[Target], object]:
    return lambda target: Path(path.format(holder=target.holder)).read_bytes()[:64]


def _list(path: str) -> Callable[[Target], object]:
    return lambda target: os.listdir(path.format(holder=target.holder))  # noqa: PTH208


def _at_address(target: Target) -> bytes:
    with open(f"/proc/{target.holder}/mem", "rb") as memory:  # noqa: PTH123
        memory.seek(target.address)
        return memory.read(target.size)


def _connect(family: socket.AddressFamily, kind: socket.SocketKind) -> Callable[[Target], object]:
    def run(target: Target) -> object:
        with socket.socket(family, kind) as made:
            made.settimeout(5)
            made.connect(("127.0.0.1", target.port))
            return made.getpeername()

    return run


def _fork(_: Target) -> object:
    child = os.fork()
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)


def _thread(_: Target) -> object:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    return "thread"


def _spawn(_: Target) -> object:
    return subprocess.run(["/bin/true"], check=True).returncode


def _exec(_: Target) -> object:
    os.execv("/bin/true", ["/bin/true"])


def _write_file(target: Target) -> object:
    path = Path(target.scratch, "written")
    path.write_bytes(b"x")
    path.unlink()
    return "written"


def _temporary(_: Target) -> object:
    with tempfile.TemporaryFile() as made:
        return made.write(b"x")


def _make_folder(target: Target) -> object:
    path = Path(target.scratch, "made")
    path.mkdir()
    path.rmdir()
    return "made"


def _remove(target: Target) -> object:
    Path(target.scratch, "there").unlink()
    return "removed"


def _grow(target: Target) -> object:
    os.truncate(Path(target.scratch, "there"), 10)
    return "grown"


def _empty(target: Target) -> object:
    os.truncate(Path(target.scratch, "there"), 0)
    return "emptied"


def _rename(target: Target) -> object:
    return Path(target.scratch, "there").rename(Path(target.scratch, "elsewhere"))


def _raise_limits(_: Target) -> object:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def _limit_the_holder(target: Target) -> object:
    return resource.prlimit(target.holder, resource.RLIMIT_CORE, (0, 0))


def _machine_code(_: Target) -> object:
    with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as made:
        return len(made)


def _descriptors(_: Target) -> object:
    """Those beyond the document, the reply and the null device."""
    found = []
    for number in range(3, 4096):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    if not found:
        raise OSError(errno.EBADF, "none")
    return found


def _environment(_: Target) -> object:
    return dict(os.environ)


def _wait_for_ever(_: Target) -> object:
    lock = threading.Lock()
    with lock:
        return lock.acquire()


def _spin(_: Target) -> object:
    while True:
        pass


def _ignore_the_end(target: Target) -> object:
    """Of its time: the signal that says so."""
    with suppress(OSError):
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    return _spin(target)


def _hoard(_: Target) -> object:
    hoard = []
    while True:
        hoard.append(bytearray(1 << 20))


def _crash(_: Target) -> object:
    return ctypes.string_at(0)


def _say(*parts: bytes, times: int = 1) -> Callable[[Target], object]:
    def run(_: Target) -> object:
        for _time in range(times):
            for part in parts:
                os.write(1, part)
        os._exit(0)

    return run


ATTACKS: dict[str, Callable[[Target], object]] = {
    "environment of the parent": _read("/proc/{holder}/environ"),
    "memory of the parent": _at_address,
    "memory map of the parent": _read("/proc/{holder}/maps"),
    "descriptors of the parent": _list("/proc/{holder}/fd"),
    "command of the parent": _read("/proc/{holder}/cmdline"),
    "own environment": _read("/proc/self/environ"),
    "environment of the first process": _read("/proc/1/environ"),
    "a file": _read("/etc/hostname"),
    "a folder": _list("/"),
    "read memory": _memory("process_vm_readv"),
    "write memory": _memory("process_vm_writev"),
    "trace": lambda target: _checked(
        _LIBC.ptrace(ctypes.c_long(_PTRACE_SEIZE), target.holder, None, None)
    ),
    "pidfd": lambda target: _checked(_LIBC.syscall(_PIDFD_OPEN, target.holder, 0)),
    "tcp": _connect(socket.AF_INET, socket.SOCK_STREAM),
    "udp": _connect(socket.AF_INET, socket.SOCK_DGRAM),
    "unix socket": lambda _: socket.socket(socket.AF_UNIX).detach(),
    "socket pair": lambda _: [each.detach() for each in socket.socketpair()],
    "pipe": lambda _: os.pipe(),
    "signal the parent": lambda target: os.kill(target.holder, 0),
    "signal everybody": lambda _: os.kill(-1, 0),
    "fork": _fork,
    "thread": _thread,
    "spawn": _spawn,
    "exec": _exec,
    "write a file": _write_file,
    "temporary file": _temporary,
    "make a folder": _make_folder,
    "remove a file": _remove,
    "rename a file": _rename,
    "grow a file": _grow,
    "empty a file": _empty,
    "raise own limits": _raise_limits,
    "limit the parent": _limit_the_holder,
    "machine code": _machine_code,
    "descriptors": _descriptors,
    "own variables": _environment,
    "wait for ever": _wait_for_ever,
    "spin": _spin,
    "spin on": _ignore_the_end,
    "hoard": _hoard,
    "crash": _crash,
    "say nonsense": _say(b"nonsense"),
    "say nothing": _say(),
    "say too much": _say(b"x" * (1 << 20), times=1 << 20),
    "say another form": _say(
        struct.pack("<I", 57),
        b'{"reading": {"signals": [], "active_content_removed": 1}}',
    ),
    "say many pieces": _say(
        struct.pack("<I", 61),
        b'{"reading": {"signals": [], "active_content_removed": false}}',
        (struct.pack("<III", 1, 0, 0) + b"x") * 20_000,
    ),
}


def read(content: bytes, _: Media, limits: Limits) -> Reading:
    asked = json.loads(content)
    told = try_it(asked.pop("attack"), Target(**asked))
    return Reading((Piece(told),), None, (), active_content_removed=False)


if __name__ == "__main__":
    worker.main(read)
