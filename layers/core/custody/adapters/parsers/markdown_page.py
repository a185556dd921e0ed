"""Markdown by way of HTML, so that raw HTML inside it meets the same rules.

Addresses of links and images go with the HTML; their labels stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from custody.adapters.parsers.budget import Budget
from custody.adapters.parsers.draft import Draft
from custody.adapters.parsers.html_page import read_html
from custody.adapters.parsers.limits import Limits

if TYPE_CHECKING:
    from markdown_it.token import Token

# Enough of an address to see what it would do.
_ADDRESS_CHARACTERS = 64
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,10000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.{1,500}?)[ \t]*$", re.MULTILINE)


def read_markdown(text: str, limits: Limits, budget: Budget) -> Draft:
    """Raises Rejected: ``document-too-complex``, ``too-much-text``."""
    from markdown_it import MarkdownIt

    text = text.replace("\r\n", "\n")
    title: str | None = None
    front = _FRONT_MATTER.match(text)
    if front is not None:
        found = _FRONT_TITLE.search(front.group(1))
        title = found.group(1).strip("\"'") if found else None
        text = text[front.end() :]

    class Markdown(MarkdownIt):
        def validateLink(self, url: str) -> bool:  # noqa: N802, ARG002 - the library's name
            """A link with a bad scheme must become a link too, whose address is dropped: refused
            as a link, it would stay in the text as written."""
            return True

    markdown = Markdown("commonmark", {"html": True}).enable(["table", "strikethrough"])
    environment: dict[str, object] = {}
    tokens = markdown.parse(text, environment)
    _shorten_addresses(tokens)
    page = markdown.renderer.render(tokens, markdown.options, environment)
    draft = read_html(page, limits, budget)
    return replace(draft, title=title or draft.title)


def _shorten_addresses(tokens: Iterable[Token]) -> None:
    """A link by reference has the address and the title of its definition: written out in each of
    a hundred thousand links, a long one makes gigabytes, and none of it is ever shown."""
    for token in tokens:
        token.attrs.pop("title", None)
        for name in ("href", "src"):
            if name in token.attrs:
                token.attrs[name] = str(token.attrs[name])[:_ADDRESS_CHARACTERS]
        _shorten_addresses(token.children or ())
