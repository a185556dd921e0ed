"""What goes to the terminal: results to stdout, everything else to stderr.

Text that was retrieved is data. It is shown without markup being read in it and without the
control characters that could drive a terminal or turn a line around.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from custody_cli.errors import CommandError

# C0 but tab and line feed, DEL and C1, and the characters that reorder a line.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(value: object) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value))


def text(value: object, style: str = "") -> Text:
    from rich.text import Text

    return Text(plain("" if value is None else value), style=style)


def stdout() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def show(*parts: RenderableType) -> None:
    console = stdout()
    for part in parts:
        console.print(part)


def show_json(value: Mapping[str, object]) -> None:
    """One JSON document, indented. What could drive a terminal is escaped."""
    shown = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    safe = re.sub(
        r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]",
        lambda found: f"\\u{ord(found[0]):04x}",
        shown,
    )
    sys.stdout.write(safe + "\n")


def note(message: str) -> None:
    stderr().print(plain(message), markup=False)


def fail(error: CommandError, *, as_json: bool) -> None:
    if as_json:
        show_json(error.as_json())
        return
    console = stderr()
    where = f" ({error.field})" if error.field else ""
    trace = f" [trace {error.trace_id}]" if error.trace_id else ""
    console.print(text(f"{error.code}{where}: {error.detail}{trace}", "red"))
    if error.hint:
        console.print(text(error.hint))
