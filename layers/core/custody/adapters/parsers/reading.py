"""One document of a known type, from bytes to clean and inspected text."""

from __future__ import annotations

import codecs
from contextlib import suppress

from custody.adapters.parsers.budget import Budget
from custody.adapters.parsers.csv_table import read_csv
from custody.adapters.parsers.draft import Draft, Piece, Reading
from custody.adapters.parsers.html_page import read_html
from custody.adapters.parsers.json_value import read_json, read_json_lines
from custody.adapters.parsers.limits import Limits
from custody.adapters.parsers.markdown_page import read_markdown
from custody.adapters.parsers.pdf_pages import read_pdf
from custody.adapters.parsers.plain_text import read_text
from custody.domain.text import media
from custody.domain.text.hygiene import Cleaned, clean_text, inspect_text, ordered
from custody.domain.text.media import Media
from custody.errors import NotUtf8, Rejected

# Charsets that documents are still written in; free to choose, a guess takes exotic ones.
_LIKELY = (
    "cp1252",
    "utf_16",
    "cp1251",
    "koi8_r",
    "shift_jis",
    "euc_jp",
    "gb18030",
    "big5",
    "euc_kr",
)  # By a byte order mark, and what pdfium gives.
_WITHOUT_DECLARATION = ("utf_8_sig", "utf_16_le", "utf_16_be", "utf_32")


def read(content: bytes, kind: Media, limits: Limits) -> Reading:
    """Raises Rejected with the codes of ``custody.domain.text.media`` and of each format."""
    budget = Budget(limits.characters)
    draft = _draft(content, kind, limits, budget)
    budget.take(len(draft.title or ""))
    return _finish(draft)


def load() -> None:
    """Everything that reading any document may need: a child can open no file any more."""
    import charset_normalizer  # noqa: F401
    import markdown_it  # noqa: F401
    import nh3  # noqa: F401
    import pypdfium2  # noqa: F401

    for charset in (*_LIKELY, *_WITHOUT_DECLARATION):
        codecs.lookup(charset)


def load_charset(declared: str | None) -> None:
    """One that nobody knows is refused where the document is read."""
    with suppress(LookupError, ValueError):
        codecs.lookup(declared or "")


def _draft(content: bytes, kind: Media, limits: Limits, budget: Budget) -> Draft:
    if kind.type == media.PDF:
        return read_pdf(content, limits, budget)
    text = _text(content, kind)
    match kind.type:
        case media.HTML:
            return read_html(text, limits, budget)
        case media.MARKDOWN:
            return read_markdown(text, limits, budget)
        case media.JSON:
            return read_json(text, limits, budget)
        case media.JSON_LINES:
            return read_json_lines(text, limits, budget)
        case media.CSV:
            return read_csv(text, limits, budget)
        case _:
            return read_text(text, budget)


def _text(content: bytes, kind: Media) -> str:
    try:
        return media.decode(content, kind.charset)
    except NotUtf8 as error:
        if kind.charset is not None:
            raise
        raise NotUtf8(error.detail + _charset_hint(content)) from error


def _charset_hint(content: bytes) -> str:
    """A guess for a person to act on; the text is never decoded by it."""
    from charset_normalizer import from_bytes

    guess = from_bytes(content[:16_384], cp_isolation=list(_LIKELY)).best()
    return f" It may be {guess.encoding}: declare its charset." if guess else ""


def _finish(draft: Draft) -> Reading:
    signals = set(draft.signals)
    headings: dict[str, Cleaned] = {}
    pieces: list[Piece] = []
    for piece in draft.pieces:
        text = clean_text(piece.text)
        # Many pieces may stand under one heading: cleaned and kept once.
        raw = piece.heading or ""
        heading = headings.get(raw) or headings.setdefault(raw, clean_text(raw))
        signals.update(text.signals, heading.signals)
        if text.text.strip():
            pieces.append(Piece(text.text.strip("\n"), heading.text.strip() or None, piece.page))
    title = clean_text(draft.title or "")
    signals.update(title.signals)
    if not pieces:
        raise Rejected("The document has no text.", code="empty-document")
    shown = dict.fromkeys(piece.heading for piece in pieces if piece.heading)
    text_shown = "\n".join((title.text, *shown, *(piece.text for piece in pieces)))
    signals.update(inspect_text(text_shown), inspect_text(draft.concealed))
    return Reading(
        pieces=tuple(pieces),
        title=" ".join(title.text.split()) or None,
        signals=ordered(signals),
        active_content_removed=draft.active_content_removed,
    )
