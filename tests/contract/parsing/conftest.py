"""Real documents, made here."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Protocol

import pytest
from reportlab.lib import pdfencrypt
from reportlab.pdfgen import canvas

from custody.adapters.parsers.format_parser import FormatParser
from custody.application.ports import ParsedDocument
from custody.errors import Rejected

type Parse = Callable[[bytes | str, str], ParsedDocument]
type Refuse = Callable[[bytes | str, str], Rejected]


class MakePdf(Protocol):
    def __call__(
        self,
        pages: Sequence[str],
        *,
        title: str | None = None,
        password: str | None = None,
        invisible: str | None = None,
    ) -> bytes: ...


@pytest.fixture
def parse() -> Parse:
    parser = FormatParser()

    def parse(content: bytes | str, content_type: str) -> ParsedDocument:
        raw = content.encode() if isinstance(content, str) else content
        return parser.parse(raw, content_type=content_type, name="document")

    return parse


@pytest.fixture
def refuse(parse: Parse) -> Refuse:
    def refuse(content: bytes | str, content_type: str) -> Rejected:
        with pytest.raises(Rejected) as refused:
            parse(content, content_type)
        return refused.value

    return refuse


@pytest.fixture(scope="session")
def make_pdf() -> MakePdf:
    def make(
        pages: Sequence[str],
        *,
        title: str | None = None,
        password: str | None = None,
        invisible: str | None = None,
    ) -> bytes:
        encryption = pdfencrypt.StandardEncryption(password, strength=128) if password else None
        buffer = io.BytesIO()
        drawing = canvas.Canvas(buffer, invariant=1, encrypt=encryption)
        if title:
            drawing.setTitle(title)
        for page in pages:
            text = drawing.beginText(72, 720)
            for line in page.split("\n"):
                text.textLine(line)
            drawing.drawText(text)
            if invisible:
                text = drawing.beginText(72, 300)
                text.setTextRenderMode(3)
                text.textLine(invisible)
                drawing.drawText(text)
            drawing.showPage()
        drawing.save()
        return buffer.getvalue()

    return make
