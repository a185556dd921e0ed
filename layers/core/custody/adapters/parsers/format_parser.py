"""Sizes first, then the type, then the reader of that type in a child process."""

from __future__ import annotations

from custody.adapters.parsers.isolation import read_isolated, start
from custody.adapters.parsers.libraries import parser_version
from custody.adapters.parsers.limits import Limits
from custody.application.ports import Block, ParsedDocument
from custody.domain.text import media
from custody.errors import Rejected

_DEFAULT_LIMITS = Limits()


class FormatParser:
    """``Parser`` for text, Markdown, HTML, PDF, JSON, JSON lines and CSV.

    Raises Unavailable(parser-unavailable) when a child process can't be started.
    """

    def __init__(self, limits: Limits = _DEFAULT_LIMITS) -> None:
        self._limits = limits
        start()

    def parse(self, content: bytes, *, content_type: str, name: str) -> ParsedDocument:
        """Raises Rejected. Of any type: ``empty-document``, ``document-too-large``,
        ``document-too-complex``, ``too-much-text``, ``type-not-supported``, ``type-mismatch``,
        ``invalid-utf8``, ``invalid-charset``, ``charset-not-supported``. Of one:
        ``malformed-pdf``, ``encrypted-pdf``, ``malformed-json``, ``malformed-csv`` (``field``
        names the line). Unavailable(parser-unavailable) when no child can read it, or only one
        that isn't shut in."""
        self._refuse_size(len(content), self._limits.bytes)
        kind = media.resolve(content, content_type=content_type, name=name)
        if kind.type in {media.HTML, media.MARKDOWN}:
            self._refuse_size(len(content), self._limits.markup_bytes)
        elif kind.type in {media.JSON, media.JSON_LINES}:
            self._refuse_size(len(content), self._limits.json_bytes)
        reading = read_isolated(content, kind, self._limits)
        return ParsedDocument(
            blocks=tuple(Block(each.text, each.heading, each.page) for each in reading.pieces),
            title=reading.title,
            signals=reading.signals,
            active_content_removed=reading.active_content_removed,
            media_type=kind.type,
            parser=parser_version(kind.type),
        )

    def _refuse_size(self, size: int, limit: int) -> None:
        if size > limit:
            raise Rejected(f"The document has more than {limit} bytes.", code="document-too-large")
