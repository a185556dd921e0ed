"""Plain text: it is what it is."""

from __future__ import annotations

from custody.adapters.parsers.draft import Draft
from custody.application.ports import Block


def read_text(text: str) -> Draft:
    return Draft((Block(text),))
