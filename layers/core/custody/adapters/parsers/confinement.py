"""What the child gives up before it sees a document, and the proof that it did.

Nothing here needs a privilege. Two walls stand one behind the other: limits that leave no file,
socket or process to be made, which every Linux has, and a filter of system calls, which a platform
may refuse. So no feature is asked for by name: before the first document, what a hostile reader
would do is tried behind the walls that stand (``breaches``).
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from errno import EFAULT

from custody.adapters.parsers import system_calls
from custody.adapters.parsers.limits import Limits

_NOBODY = 65_534
_PR_SET_DUMPABLE = 4
_PTRACE_SEIZE = 0x4206
_DONE, _REFUSED, _UNKNOWN = 0, 1, 2


def close_own_memory() -> None:
    """Of the process that holds secrets, and of the worker, which is not confined: memory,
    environment and descriptors are closed to others of its user. Where the platform refuses,
    ``breaches`` says whether it matters."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def confine(limits: Limits, *, filtered: bool) -> None:
    """For ever. Raises OSError, ValueError where a limit or the filter can't be set."""
    for kind, soft, hard in (
        (resource.RLIMIT_CPU, limits.seconds, limits.seconds + 1),
        (resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
        # A descriptor more is one too many: nothing can be opened, and no socket made.
        (resource.RLIMIT_NOFILE, 0, 0),
    ):
        resource.setrlimit(kind, (soft, hard))
    # A child that waits spends no processor time; the kernel ends it all the same.
    signal.setitimer(signal.ITIMER_REAL, limits.wall_seconds)
    if os.geteuid() == 0:
        # Root may raise its limits. A root that can't change its user is found by ``breaches``.
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    if filtered:
        system_calls.allow_few()


def can_filter() -> bool:
    return _tried(system_calls.allow_few) == _DONE


def breaches(holder: int, *, filtered: bool) -> list[str]:
    """What a confined child of this process can still do that it must not: ``holder`` is the
    process that has credentials, and this one, the worker, is bound by nothing. An attempt that
    neither is refused nor killed counts as one that succeeded."""

    def confined(attempt: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            confine(Limits(), filtered=filtered)
            attempt()

        return run

    worker = os.getpid()
    attempts: dict[str, Callable[[], None]] = {
        "open a file": lambda: os.close(os.open("/", os.O_RDONLY)),
        "make a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(),
        "make a process": _make_process,
        "raise a limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        "read the parent's memory": lambda: _read_memory(holder),
        "trace the parent": lambda: _trace(holder),
        "read the worker's memory": lambda: _read_memory(worker),
        "trace the worker": lambda: _trace(worker),
    }
    ends = {name: _tried(confined(attempt)) for name, attempt in attempts.items()}
    return [name for name, end in ends.items() if end >= 0 and end != _REFUSED]


def _tried(attempt: Callable[[], None]) -> int:
    """How it ended in a child of its own, since a platform may kill who tries: _DONE, _REFUSED,
    below zero by a signal, else in a way nobody thought of."""
    child = os.fork()
    if child == 0:
        try:
            attempt()
            os._exit(_DONE)
        except (OSError, ValueError):
            os._exit(_REFUSED)
        finally:
            os._exit(_UNKNOWN)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _make_process() -> None:
    if os.fork() == 0:
        os._exit(0)


def _read_memory(holder: int) -> None:
    """Of an address that is mapped nowhere: whoever may read is told that it is a bad one."""

    class Part(ctypes.Structure):
        _fields_ = (("start", ctypes.c_void_p), ("length", ctypes.c_size_t))

    own = ctypes.create_string_buffer(1)
    here, there = Part(ctypes.addressof(own), 1), Part(1, 1)
    libc = ctypes.CDLL(None, use_errno=True)
    read = libc.process_vm_readv(
        holder, ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(there), ctypes.c_ulong(1), 0
    )
    if read < 0 and ctypes.get_errno() != EFAULT:
        raise OSError(ctypes.get_errno(), "process_vm_readv")


def _trace(holder: int) -> None:
    """Seized, a process is not stopped; it is let go when the child ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(ctypes.c_long(_PTRACE_SEIZE), holder, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
