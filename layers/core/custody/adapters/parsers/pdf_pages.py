"""PDF to text, page by page, with pdfium."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from custody.adapters.parsers.budget import Budget
from custody.adapters.parsers.draft import Draft, Piece
from custody.adapters.parsers.limits import Limits
from custody.domain.text.hygiene import HIDDEN_TEXT
from custody.errors import Rejected

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_END_MARK = re.compile(rb"%%EOF")
# Where pdfium found a hyphen at a line's end it writes one of these.
_HYPHENATED = re.compile("[\ufffe\x02](?:\r?\n)?")
# What programs write where nobody gave a title.
_NO_TITLES = frozenset({"", "untitled", "untitled document"})
# Looking at every object of a page is dear; more than this tell nothing new.
_OBJECTS_LOOKED_AT = 5_000


def read_pdf(content: bytes, limits: Limits, budget: Budget) -> Draft:
    """A piece a page. Raises Rejected: ``malformed-pdf``, ``encrypted-pdf``,
    ``document-too-complex``, ``too-much-text``; ``empty-document`` where no page has text.

    pdfium isn't thread-safe: two threads in it crash, or silently read nothing.
    """
    if not _END_MARK.search(content, max(0, len(content) - 2_048)):
        raise Rejected("The PDF has no end: it was cut off.", code="malformed-pdf")
    from pypdfium2 import PdfDocument, PdfiumError, raw

    try:
        document = PdfDocument(content)
    except PdfiumError as error:
        if error.err_code in {raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY}:
            raise Rejected("The PDF needs a password.", code="encrypted-pdf") from error
        raise _malformed() from error
    try:
        if len(document) > limits.pages:
            raise Rejected(
                f"The PDF has more than {limits.pages} pages.", code="document-too-complex"
            )
        pieces: list[Piece] = []
        invisible = False
        for index in range(len(document)):
            page = document[index]
            text = _text(page, budget)
            if text:
                pieces.append(budget.piece(text, page=index + 1))
                invisible = invisible or _has_invisible_text(page)
            page.close()
        if not pieces:
            raise Rejected(
                "No page of the PDF has text (scanned pages need OCR first).", code="empty-document"
            )
        return Draft(
            tuple(pieces),
            title=_title(document),
            signals=(HIDDEN_TEXT,) if invisible else (),
            active_content_removed=raw.FPDFDoc_GetJavaScriptActionCount(document) > 0,
        )
    except PdfiumError as error:
        raise _malformed() from error
    finally:
        document.close()


def _text(page: PdfPage, budget: Budget) -> str:
    textpage = page.get_textpage()
    try:
        budget.take(textpage.count_chars())
        text: str = textpage.get_text_range()
    finally:
        textpage.close()
    return _HYPHENATED.sub("", text).replace("\r\n", "\n").strip()


def _has_invisible_text(page: PdfPage) -> bool:
    """Text drawn in mode 3 (neither filled nor stroked), as under a scanned page or to deceive."""
    from pypdfium2 import raw

    for number, each in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT], max_depth=3)):
        if number == _OBJECTS_LOOKED_AT:
            return False
        if raw.FPDFTextObj_GetTextRenderMode(each) == raw.FPDF_TEXTRENDERMODE_INVISIBLE:
            return True
    return False


def _title(document: PdfDocument) -> str | None:
    title: str = document.get_metadata_value("Title").strip()
    return None if title.lower() in _NO_TITLES else title


def _malformed() -> Rejected:
    return Rejected("The PDF can't be read: it is damaged.", code="malformed-pdf")
