"""The child process: reads one document from standard input, answers on standard output.

It says ``ready`` once it has loaded, so that a broken installation isn't taken for a bad document.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict

from custody.adapters.parsers.limits import Limits
from custody.adapters.parsers.reading import read
from custody.domain.text.media import Media
from custody.errors import Rejected

READY = b"ready\n"


def main() -> None:
    output = sys.stdout.buffer
    output.write(READY)
    output.flush()
    request = json.loads(sys.stdin.buffer.readline())
    limits = Limits(**request["limits"])
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        parsed = read(sys.stdin.buffer.read(), Media(**request["media"]), limits)
        reply: dict[str, object] = {"parsed": asdict(parsed)}
    except Rejected as error:
        reply = {"rejected": {"detail": error.detail, "code": error.code, "field": error.field}}
    output.write(json.dumps(reply).encode("ascii"))


if __name__ == "__main__":
    main()
