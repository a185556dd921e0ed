"""One document of a known type, from bytes to clean and inspected text."""

from __future__ import annotations

from importlib.metadata import version

from custody.adapters.parsers.csv_table import read_csv
from custody.adapters.parsers.draft import Draft
from custody.adapters.parsers.html_page import read_html
from custody.adapters.parsers.json_value import read_json, read_json_lines
from custody.adapters.parsers.limits import Limits
from custody.adapters.parsers.markdown_page import read_markdown
from custody.adapters.parsers.pdf_pages import read_pdf
from custody.adapters.parsers.plain_text import read_text
from custody.application.ports import Block, ParsedDocument
from custody.domain.text import media
from custody.domain.text.hygiene import clean_text, inspect_text, ordered
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
)
# Raise it when the same bytes would give other text.
_REVISION = 1
_LIBRARIES = {
    media.HTML: ("nh3",),
    media.MARKDOWN: ("markdown-it-py", "nh3"),
    media.PDF: ("pypdfium2",),
}


def read(content: bytes, kind: Media, limits: Limits) -> ParsedDocument:
    """Raises Rejected with the codes of ``custody.domain.text.media`` and of each format."""
    return _finish(_draft(content, kind, limits), kind, limits)


def parser_version(media_type: str) -> str:
    """What made the text: this package's revision and the libraries of the type."""
    libraries = (f"{name}@{version(name)}" for name in _LIBRARIES.get(media_type, ()))
    return ";".join((f"custody-parsers@{_REVISION}", *libraries))


def _draft(content: bytes, kind: Media, limits: Limits) -> Draft:
    if kind.type == media.PDF:
        return read_pdf(content, limits)
    text = _text(content, kind)
    match kind.type:
        case media.HTML:
            return read_html(text, limits)
        case media.MARKDOWN:
            return read_markdown(text, limits)
        case media.JSON:
            return read_json(text, limits)
        case media.JSON_LINES:
            return read_json_lines(text, limits)
        case media.CSV:
            return read_csv(text, limits)
        case _:
            return read_text(text)


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


def _finish(draft: Draft, kind: Media, limits: Limits) -> ParsedDocument:
    signals = set(draft.signals)
    blocks: list[Block] = []
    for block in draft.blocks:
        text = clean_text(block.text)
        heading = clean_text(block.heading or "")
        signals.update(text.signals, heading.signals)
        if text.text.strip():
            blocks.append(Block(text.text.strip("\n"), heading.text.strip() or None, block.page))
    title = clean_text(draft.title or "")
    signals.update(title.signals)
    if not blocks:
        raise Rejected("The document has no text.", code="empty-document")
    if sum(len(block.text) for block in blocks) > limits.characters:
        raise Rejected(
            f"The document has more than {limits.characters} characters of text.",
            code="document-too-complex",
        )
    headings = dict.fromkeys(block.heading for block in blocks if block.heading)
    shown = "\n".join((title.text, *headings, *(block.text for block in blocks)))
    signals.update(inspect_text(shown), inspect_text(draft.concealed))
    return ParsedDocument(
        blocks=tuple(blocks),
        title=" ".join(title.text.split()) or None,
        signals=ordered(signals),
        active_content_removed=draft.active_content_removed,
        media_type=kind.type,
        parser=parser_version(kind.type),
    )
