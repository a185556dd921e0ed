"""Which libraries read a type."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from custody.domain.text import media

# Raise it when the same bytes would give other text.
_REVISION = 1
_LIBRARIES = {
    media.HTML: ("nh3",),
    media.MARKDOWN: ("markdown-it-py", "nh3"),
    media.PDF: ("pypdfium2",),
}


@cache
def parser_version(media_type: str) -> str:
    """What made the text: this package's revision and the libraries of the type."""
    libraries = (f"{name}@{version(name)}" for name in _LIBRARIES.get(media_type, ()))
    return ";".join((f"custody-parsers@{_REVISION}", *libraries))
