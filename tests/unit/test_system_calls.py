"""The filter of system calls, run here as the kernel would, for both machines."""

from __future__ import annotations

import struct

import pytest

from custody.adapters.parsers.system_calls import MACHINES, program

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050001, 0x80000000
X86_64, AARCH64, I386, ARM = 0xC000003E, 0xC00000B7, 0x40000003, 0x40000028
AUDIT = {"x86_64": X86_64, "aarch64": AARCH64}
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4


def decided(code: bytes, architecture: int, number: int, third: int = 0) -> int:
    """What the filter returns for a call with this number and third argument."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, 0, 0, third, 0, 0, 0)
    steps = list(struct.iter_unpack("=HBBI", code))
    held, at = 0, 0
    while True:
        operation, yes, no, operand = steps[at]
        at += 1
        if operation == 0x20:  # load a word
            (held,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x15:  # jump if equal
            at += yes if held == operand else no
        elif operation == 0x45:  # jump if any bit is set
            at += yes if held & operand else no
        else:
            assert operation == 0x06  # return
            return int(operand)


# name: (x86_64, aarch64), from the kernel's headers
NEEDED = {
    "read": (0, 63),
    "write": (1, 64),
    "munmap": (11, 215),
    "brk": (12, 214),
    "futex": (202, 98),
    "exit_group": (231, 94),
    "getrandom": (318, 278),
    "clock_gettime": (228, 113),
}
REFUSED = {
    "openat": (257, 56),
    "openat2": (437, 437),
    "socket": (41, 198),
    "connect": (42, 203),
    "sendto": (44, 206),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kill": (62, 129),
    "tgkill": (234, 131),
    "clone": (56, 220),
    "clone3": (435, 435),
    "execve": (59, 221),
    "execveat": (322, 281),
    "prctl": (157, 167),
    "seccomp": (317, 277),
    "prlimit64": (302, 261),
    "setitimer": (38, 103),
    "rt_sigaction": (13, 134),
    "unlinkat": (263, 35),
    "renameat": (264, 38),
    "mkdirat": (258, 34),
    "mount": (165, 40),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "sendmsg": (46, 211),
    "dup": (32, 23),
    "pkey_mprotect": (329, 288),
    "userfaultfd": (323, 282),
}
MEMORY = {"mmap": (9, 222), "mprotect": (10, 226)}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_reader_may_do_what_it_needs_and_nothing_that_reaches_out(machine: str) -> None:
    code, audit = program(MACHINES[machine]), AUDIT[machine]
    column = list(AUDIT).index(machine)
    for name, numbers in NEEDED.items():
        assert decided(code, audit, numbers[column]) == ALLOW, name
    for name, numbers in REFUSED.items():
        assert decided(code, audit, numbers[column]) == REFUSE, name


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_is_for_data_only(machine: str) -> None:
    code, audit = program(MACHINES[machine]), AUDIT[machine]
    column = list(AUDIT).index(machine)
    for name, numbers in MEMORY.items():
        assert decided(code, audit, numbers[column], PROT_READ | PROT_WRITE) == ALLOW, name
        assert decided(code, audit, numbers[column], PROT_READ | PROT_EXEC) == REFUSE, name


@pytest.mark.parametrize("machine", MACHINES)
def test_few_calls_are_allowed_at_all(machine: str) -> None:
    code, audit = program(MACHINES[machine]), AUDIT[machine]
    allowed = [number for number in range(1_000) if decided(code, audit, number) != REFUSE]
    assert len(allowed) == 21


@pytest.mark.parametrize("machine", MACHINES)
def test_another_entry_to_the_kernel_ends_the_child(machine: str) -> None:
    """Its numbers mean other calls. The x32 entry has the same architecture and other numbers."""
    code, audit = program(MACHINES[machine]), AUDIT[machine]
    for other in {X86_64, AARCH64, I386, ARM} - {audit}:
        assert decided(code, other, NEEDED["read"][0]) == KILL
    assert decided(code, audit, 0x40000000 | NEEDED["read"][0]) == REFUSE
