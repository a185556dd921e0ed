"""The program that reads documents: one process that loads the readers, and a child of it for each.

Loading takes a fifth of a second and many files; a child that is forked afterwards costs some
milliseconds and needs no file at all, so it can be shut in before it sees the document. This
process itself never looks at one: it takes a request with the two pipes of a document, forks,
waits, and says how the child ended.

It speaks on a socket whose number is its argument, one message at a time: first what it finds of
the walls around its children, then for each request the child's status. It ends when the other
side closes.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

from custody.adapters.parsers import reading, wire
from custody.adapters.parsers.confinement import (
    breaches,
    can_filter,
    close_own_memory,
    confine,
)
from custody.adapters.parsers.draft import Reading
from custody.adapters.parsers.limits import Limits
from custody.domain.text.media import Media
from custody.errors import Rejected

type Read = Callable[[bytes, Media, Limits], Reading]

_REQUEST_BYTES = 10_000
_CHUNK = 1 << 20


def main(read: Read = reading.read, *, has_filter: Callable[[], bool] = can_filter) -> None:
    close_own_memory()
    reading.load()
    gc.freeze()  # what is loaded stays: children share its memory as long as nobody touches it
    filtered = has_filter()
    with socket.socket(fileno=int(sys.argv[1])) as control:
        found = breaches(os.getppid(), filtered=filtered)
        control.send(json.dumps({"breaches": found}).encode("ascii"))
        while True:
            message, pipes, _, _ = socket.recv_fds(control, _REQUEST_BYTES, 2)
            if not message:
                return
            kind, limits = wire.asked(message)
            reading.load_charset(kind.charset)
            child = os.fork()
            if child == 0:
                _serve(kind, limits, pipes, read, filtered=filtered)
            for pipe in pipes:
                os.close(pipe)
            _, status = os.waitpid(child, 0)
            control.send(str(os.waitstatus_to_exitcode(status)).encode("ascii"))


def _serve(
    kind: Media, limits: Limits, pipes: list[int], read: Read, *, filtered: bool
) -> NoReturn:
    """The child: it leaves nothing to be written or closed on its way out."""
    try:
        _keep_only(*pipes)
        confine(limits, filtered=filtered)
    except BaseException:  # noqa: BLE001 - nothing may go on here that isn't shut in
        os._exit(wire.NOT_CONFINED)
    try:
        _write(_reply(kind, limits, read))
    except MemoryError:
        os._exit(wire.OUT_OF_MEMORY)
    except BaseException:  # noqa: BLE001 - the document caused it, and a traceback would quote it
        os._exit(wire.BROKEN)
    os._exit(0)


def _keep_only(source: int, target: int) -> None:
    """The document on 0, the reply on 1, nothing on 2, and no other descriptor."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for place, pipe in enumerate((source, target, nowhere)):
        os.dup2(pipe, place)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _reply(kind: Media, limits: Limits, read: Read) -> bytes:
    try:
        return wire.answer(read(_content(), kind, limits))
    except Rejected as error:
        return wire.refusal(error)


def _content() -> bytes:
    parts: list[bytes] = []
    while part := os.read(0, _CHUNK):
        parts.append(part)
    return b"".join(parts)


def _write(reply: bytes) -> None:
    left = memoryview(reply)
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    main()
