"""Sizes first, then the type, then the parser of that type."""

from __future__ import annotations

from custody.adapters.parsers.isolation import read_isolated
from custody.adapters.parsers.limits import Limits
from custody.application.ports import ParsedDocument
from custody.domain.text import media
from custody.domain.text.media import Media
from custody.errors import Rejected

_DEFAULT_LIMITS = Limits()


class FormatParser:
    """``Parser`` for text, Markdown, HTML, PDF, JSON, JSON lines and CSV.

    PDF and markup that could be dear to parse are read in a child process.
    """

    def __init__(self, limits: Limits = _DEFAULT_LIMITS) -> None:
        self._limits = limits

    def parse(self, content: bytes, *, content_type: str, name: str) -> ParsedDocument:
        """Raises Rejected. Of any type: ``empty-document``, ``document-too-large``,
        ``document-too-complex``, ``type-not-supported``, ``type-mismatch``, ``invalid-utf8``,
        ``invalid-charset``, ``charset-not-supported``. Of one: ``malformed-pdf``,
        ``encrypted-pdf``, ``malformed-json``, ``malformed-csv`` (``field`` names the line).
        Unavailable(parser-unavailable) when a child process can't be started."""
        self._refuse_size(len(content), self._limits.bytes)
        kind = media.resolve(content, content_type=content_type, name=name)
        if kind.type in {media.HTML, media.MARKDOWN}:
            self._refuse_size(len(content), self._limits.markup_bytes)
        elif kind.type in {media.JSON, media.JSON_LINES}:
            self._refuse_size(len(content), self._limits.json_bytes)
        if self._is_dear(content, kind):
            return read_isolated(content, kind, self._limits)
        # Imported late: accepting a document needs the types, not the parsers.
        from custody.adapters.parsers.reading import read

        return read(content, kind, self._limits)

    def _is_dear(self, content: bytes, kind: Media) -> bool:
        """Size alone isn't enough (tags nest) and neither is the number of tags: one tag may have
        a hundred thousand attributes, and text that is all entities is dear as well."""
        if kind.type not in {media.HTML, media.MARKDOWN}:
            return kind.type == media.PDF
        many_tags = kind.type == media.HTML and content.count(b"<") > self._limits.tags_in_process
        return many_tags or len(content) > self._limits.markup_bytes_in_process

    def _refuse_size(self, size: int, limit: int) -> None:
        if size > limit:
            raise Rejected(f"The document has more than {limit} bytes.", code="document-too-large")
