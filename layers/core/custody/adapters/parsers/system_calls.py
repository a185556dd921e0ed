"""The system calls that the child may still make, as a filter that the kernel runs.

Written out here because Lambda has no libseccomp. It is a list of what is allowed, so that a call
nobody thought of is refused: what a reader needs is memory, the two pipes it has, and an end.
Numbers: ``asm/unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from dataclasses import dataclass
from errno import EPERM

_ALLOWED = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "getpid": (39, 172),
    "exit": (60, 93),
    "gettimeofday": (96, 169),
    "gettid": (186, 178),
    "futex": (202, 98),
    "clock_gettime": (228, 113),
    "exit_group": (231, 94),
    "getrandom": (318, 278),
}
# Memory that may hold machine code is refused: their third argument says what memory is for.
_ALLOWED_FOR_DATA = {"mmap": (9, 222), "mprotect": (10, 226)}
_SECCOMP = (317, 277)

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_PROT_EXEC = 0x4

# struct seccomp_data, both machines little endian: number, architecture, address, six arguments.
_NUMBER, _ARCHITECTURE, _THIRD_ARGUMENT = 0, 4, 32
_LOAD, _IF_EQUAL, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | EPERM, 0x80000000


@dataclass(frozen=True, slots=True)
class Machine:
    """``column``: which of two numbers a call has. ``audit``: the kernel's name for it."""

    column: int
    audit: int


MACHINES = {"x86_64": Machine(0, 0xC000003E), "aarch64": Machine(1, 0xC00000B7)}


def program(machine: Machine) -> bytes:
    """The filter: 8 bytes an instruction (code, jump if true, jump if false, operand).

    What isn't allowed fails with EPERM, which libraries take for a file that isn't there. Another
    architecture's entry (32 bits) has other numbers: who uses it is killed.
    """
    data = [numbers[machine.column] for numbers in _ALLOWED_FOR_DATA.values()]
    calls = [numbers[machine.column] for numbers in _ALLOWED.values()]
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    tests = [*data, *calls]
    for place, number in enumerate(tests):
        # The tests are followed by: refuse, load the third argument, look at it, refuse, allow.
        to_refusal = len(tests) - place - 1
        steps.append((_IF_EQUAL, to_refusal + (1 if number in data else 4), 0, number))
    steps += [
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _THIRD_ARGUMENT),
        (_IF_ANY_BIT, 0, 1, _PROT_EXEC),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def allow_few() -> None:
    """Bind this process for ever. Raises OSError where the machine, the kernel or whatever runs
    this process has no such filter."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(f"no filter for {platform.machine()}")
    code = program(machine)
    instructions = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    wanted = Program(len(code) // 8, ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    # Without root a filter needs this first. Where it is refused it may be set already.
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.syscall(
        ctypes.c_long(_SECCOMP[machine.column]),
        ctypes.c_ulong(_SECCOMP_SET_MODE_FILTER),
        ctypes.c_ulong(0),
        ctypes.byref(wanted),
    ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
