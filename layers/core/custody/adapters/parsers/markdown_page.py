"""Markdown by way of HTML, so that raw HTML inside it meets the same rules.

Addresses of links and images go with the HTML; their labels stay.
"""

from __future__ import annotations

import re
from dataclasses import replace

from custody.adapters.parsers.draft import Draft
from custody.adapters.parsers.html_page import read_html
from custody.adapters.parsers.limits import Limits

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,10000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.{1,500}?)[ \t]*$", re.MULTILINE)


def read_markdown(text: str, limits: Limits) -> Draft:
    """Raises Rejected: ``document-too-complex``."""
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
    draft = read_html(markdown.render(text), limits)
    return replace(draft, title=title or draft.title)
