"""What a document is: its declared type held against its bytes, and its characters.

Nothing is guessed that could be wrong in silence. A type must be on the list below and the bytes
must not contradict it; characters are decoded by byte order mark, by the declared charset or as
strict UTF-8, and refused otherwise.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from custody.errors import NotUtf8, Rejected

TEXT = "text/plain"
MARKDOWN = "text/markdown"
HTML = "text/html"
PDF = "application/pdf"
JSON = "application/json"
JSON_LINES = "application/x-ndjson"
CSV = "text/csv"

SUPPORTED = frozenset({TEXT, MARKDOWN, HTML, PDF, JSON, JSON_LINES, CSV})

_ALIASES = {
    "application/jsonl": JSON_LINES,
    "application/jsonlines": JSON_LINES,
    "application/ndjson": JSON_LINES,
    "application/x-jsonlines": JSON_LINES,
    "application/csv": CSV,
    "application/xhtml+xml": HTML,
    "text/json": JSON,
    "text/x-markdown": MARKDOWN,
}
# What stores and clients say when nobody told them.
_UNDECLARED = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_EXTENSIONS = {
    "txt": TEXT,
    "text": TEXT,
    "log": TEXT,
    "md": MARKDOWN,
    "markdown": MARKDOWN,
    "html": HTML,
    "htm": HTML,
    "xhtml": HTML,
    "pdf": PDF,
    "json": JSON,
    "jsonl": JSON_LINES,
    "ndjson": JSON_LINES,
    "csv": CSV,
}
_BINARY_MAGIC = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"\xd0\xcf\x11\xe0", "OLE (old Office)"),
    (b"\x7fELF", "ELF"),
    (b"7z\xbc\xaf", "7z"),
    (b"Rar!", "RAR"),
    (b"SQLite format 3", "SQLite"),
)
# The longer mark first: UTF-32 LE begins with that of UTF-16 LE.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Python knows codecs that aren't charsets (rot13, unicode_escape, utf-7 …): an allow-list.
_CHARSETS = frozenset(
    {"utf-8", "ascii", "utf-16", "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "shift_jis"}
    | {"cp932", "euc_jp", "iso2022_jp", "euc_kr", "cp949", "gb2312", "gbk", "gb18030", "big5"}
    | {"cp874", "tis-620"}
    | {f"cp125{page}" for page in range(9)}
    | {f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))}
)
_HTML_START = re.compile(rb"<(?:!doctype\s+html|html[\s>])", re.IGNORECASE)
_META_CHARSET = re.compile(
    rb"""<meta\s[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE
)
_LOOK = 1024


@dataclass(frozen=True, slots=True)
class Media:
    """A supported type that the bytes agree with, and the charset declared for them if any."""

    type: str
    charset: str | None = None


def declared(content_type: str | None, name: str) -> str | None:
    """The type that is declared, or else stated by the extension of ``name``. None: only the bytes
    can tell. Raises Rejected(type-not-supported)."""
    kind, _ = _declaration(content_type or "")
    if kind in _UNDECLARED:
        return _EXTENSIONS.get(name.rpartition("/")[2].rpartition(".")[2].lower())
    return _supported(kind)


def resolve(content: bytes, *, content_type: str | None, name: str) -> Media:
    """The media of ``content``. Raises Rejected: ``empty-document``, ``type-not-supported``,
    ``type-mismatch``.

    Without a declared type the extension of ``name`` declares it, and without a known extension
    the bytes do: PDF, HTML, or else plain text.
    """
    if not content:
        raise Rejected("The document has no bytes.", code="empty-document")
    _, charset = _declaration(content_type or "")
    start = content[:_LOOK].lstrip(b"\xef\xbb\xbf \t\r\n\f")
    magic = next((kind for prefix, kind in _BINARY_MAGIC if start.startswith(prefix)), None)
    kind = declared(content_type, name) or _supported(_by_bytes(start, magic))
    if kind == PDF:
        if b"%PDF-" not in content[:_LOOK]:
            raise _mismatch(kind, "a " + magic if magic else "no PDF")
    elif magic is not None:
        raise _mismatch(kind, f"a {magic} file")
    elif kind != HTML and _HTML_START.match(start):
        raise _mismatch(kind, "an HTML page")
    return Media(kind, charset or (_meta_charset(content) if kind == HTML else None))


def decode(content: bytes, charset: str | None) -> str:
    """The characters of ``content``. Raises Rejected: ``invalid-utf8``, ``invalid-charset`` (the
    bytes aren't in the declared charset), ``charset-not-supported``, ``type-mismatch`` (NUL)."""
    text = _decode(content, charset)
    if "\x00" in text:
        raise Rejected("The bytes are binary, not text.", code="type-mismatch")
    return text


def _decode(content: bytes, charset: str | None) -> str:
    for mark, codec in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return _strictly(content, codec)
    if charset is None:
        return _strictly(content, "utf-8")
    known = _codec(charset)
    if known is None:
        raise Rejected(f"The charset {charset[:40]} can't be read.", code="charset-not-supported")
    # Browsers and the standard read these two as windows-1252.
    return _strictly(content, "cp1252" if known in {"ascii", "iso8859-1"} else known)


def _codec(charset: str) -> str | None:
    try:
        codec = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return None
    return codec if codec in _CHARSETS else None


def _strictly(content: bytes, codec: str) -> str:
    try:
        return content.decode(codec)
    except (UnicodeDecodeError, UnicodeError) as error:
        if codec.startswith("utf-8"):
            position = error.start if isinstance(error, UnicodeDecodeError) else 0
            raise NotUtf8(f"The text is not valid UTF-8 (byte {position}).") from error
        raise Rejected(f"The text is not valid {codec}.", code="invalid-charset") from error


def _supported(kind: str) -> str:
    if kind not in SUPPORTED:
        raise Rejected(f"Documents of type {kind[:80]} can't be read.", code="type-not-supported")
    return kind


def _declaration(content_type: str) -> tuple[str, str | None]:
    kind, _, parameters = content_type.partition(";")
    found = re.search(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", parameters, re.IGNORECASE)
    kind = kind.strip().lower()
    return _ALIASES.get(kind, kind), found.group(1) if found else None


def _by_bytes(start: bytes, magic: str | None) -> str:
    if magic == "PDF":
        return PDF
    if magic is not None:
        return f"{magic}"
    return HTML if _HTML_START.match(start) else TEXT


def _meta_charset(content: bytes) -> str | None:
    found = _META_CHARSET.search(content[:_LOOK])
    if found is None:
        return None
    charset = found.group(1).decode("ascii")
    # As browsers do: a page whose ASCII could be read isn't UTF-16, whatever it says of itself, and
    # a charset that nobody knows says nothing (the bytes must then be UTF-8).
    return None if charset.lower().startswith("utf-16") or _codec(charset) is None else charset


def _mismatch(declared: str, found: str) -> Rejected:
    return Rejected(f"Declared as {declared}, but the bytes are {found}.", code="type-mismatch")
