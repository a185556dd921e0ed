"""Read a hostile format in a child process that can be killed and knows no secret.

pdfium is native code on bytes from anywhere, and a page can be made to cost more than any check
beforehand finds. The child has a deadline, a memory limit, and no environment but the import path.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict

from custody.adapters.parsers.limits import Limits
from custody.application.ports import Block, ParsedDocument
from custody.domain.text.media import Media
from custody.errors import Rejected, Unavailable

_WORKER = "custody.adapters.parsers.worker"
_READY = b"ready\n"
# The child's own limit counts processor time; a busy machine gives it less than all of one.
_WALL_SECONDS_A_CPU_SECOND = 4


def read_isolated(
    content: bytes, kind: Media, limits: Limits, *, worker: str = _WORKER
) -> ParsedDocument:
    """As ``reading.read`` in a child that runs the module ``worker``, and Rejected(document-too-complex) when the child ran out of time or
    memory or died; Unavailable(parser-unavailable) when it couldn't even start."""
    request = json.dumps({"limits": asdict(limits), "media": asdict(kind)}).encode("ascii")
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", worker],
            input=request + b"\n" + content,
            capture_output=True,
            timeout=limits.seconds * _WALL_SECONDS_A_CPU_SECOND,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _too_slow(limits) from error
    except OSError as error:
        raise Unavailable("The parser can't be started.", code="parser-unavailable") from error
    if not done.stdout.startswith(_READY):
        raise Unavailable("The parser can't be loaded.", code="parser-unavailable")
    if done.returncode == -signal.SIGXCPU:
        raise _too_slow(limits)
    if done.returncode != 0:
        raise Rejected(
            "The document breaks its parser, or needs more memory than it has.",
            code="document-too-complex",
        )
    reply = json.loads(done.stdout[len(_READY) :])
    if "rejected" in reply:
        refused = reply["rejected"]
        raise Rejected(refused["detail"], code=refused["code"], field=refused["field"])
    parsed = reply["parsed"]
    blocks = tuple(Block(**block) for block in parsed.pop("blocks"))
    return ParsedDocument(blocks=blocks, **{**parsed, "signals": tuple(parsed["signals"])})


def _too_slow(limits: Limits) -> Rejected:
    return Rejected(
        f"The document takes more than {limits.seconds} seconds to read.",
        code="document-too-complex",
    )


def _environment() -> dict[str, str]:
    """No credentials: what reads a hostile document must have nothing to give away."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C.UTF-8"}
