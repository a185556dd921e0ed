"""The declared type is held against the bytes, and characters are never guessed."""

from __future__ import annotations

import pytest

from custody.domain.text import media
from custody.domain.text.media import Media, decode, resolve
from custody.errors import Rejected


@pytest.mark.parametrize(
    ("content_type", "name", "content", "expected"),
    [
        ("text/plain", "x", b"hello", Media(media.TEXT)),
        ('Text/Plain; charset="ISO-8859-1"', "x", b"hello", Media(media.TEXT, "ISO-8859-1")),
        ("application/jsonl", "x", b"{}", Media(media.JSON_LINES)),
        ("application/octet-stream", "a/b.MD", b"# x", Media(media.MARKDOWN)),
        ("binary/octet-stream", "notes.tar.csv", b"a,b", Media(media.CSV)),
        ("", "README", b"words", Media(media.TEXT)),
        ("", "page", b"\n<!DOCTYPE html><p>x", Media(media.HTML)),
        ("", "paper", b"%PDF-1.7 ...", Media(media.PDF)),
        ("application/pdf", "x", b"junk first\n%PDF-1.4", Media(media.PDF)),
        ("text/html", "x", b"<meta charset='koi8-r'>", Media(media.HTML, "koi8-r")),
        ("text/html", "x", b"<meta charset='utf-7'>", Media(media.HTML)),
        ("text/html", "x", b"<meta charset='utf-16'>", Media(media.HTML)),
        ("text/html; charset=big5", "x", b"<meta charset='koi8-r'>", Media(media.HTML, "big5")),
        ("text/markdown", "x", b"<p align=center>logo</p>", Media(media.MARKDOWN)),
    ],
)
def test_a_type_that_the_bytes_agree_with_is_taken(
    content_type: str, name: str, content: bytes, expected: Media
) -> None:
    assert resolve(content, content_type=content_type, name=name) == expected


@pytest.mark.parametrize(
    ("content_type", "name", "expected"),
    [
        ("text/x-markdown", "a.pdf", media.MARKDOWN),
        ("application/octet-stream", "a/b.PDF", media.PDF),
        ("application/octet-stream", "report.docx", None),
        (None, "README", None),
    ],
)
def test_without_bytes_the_declaration_or_else_the_extension_tells(
    content_type: str | None, name: str, expected: str | None
) -> None:
    assert media.declared(content_type, name) == expected


def test_a_declaration_that_no_bytes_could_keep_is_refused() -> None:
    with pytest.raises(Rejected) as refused:
        media.declared("application/zip", "a.txt")
    assert refused.value.code == "type-not-supported"


@pytest.mark.parametrize(
    ("content_type", "name", "content", "code"),
    [
        ("text/plain", "x", b"", "empty-document"),
        ("application/pdf", "x", b"PK\x03\x04rest", "type-mismatch"),
        ("application/pdf", "x", b"plain words", "type-mismatch"),
        ("text/plain", "x", b"%PDF-1.7", "type-mismatch"),
        ("text/markdown", "x", b"<html><body>", "type-mismatch"),
        ("application/json", "x", b"\xef\xbb\xbf <!doctype HTML>", "type-mismatch"),
        ("text/html", "x", b"\x89PNG\r\n", "type-mismatch"),
        ("image/png", "x", b"\x89PNG\r\n", "type-not-supported"),
        ("application/zip", "x", b"PK\x03\x04", "type-not-supported"),
        ("application/octet-stream", "report.docx", b"PK\x03\x04", "type-not-supported"),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "x",
            b"PK\x03\x04",
            "type-not-supported",
        ),
    ],
)
def test_a_type_that_the_bytes_contradict_is_refused(
    content_type: str, name: str, content: bytes, code: str
) -> None:
    with pytest.raises(Rejected) as refused:
        resolve(content, content_type=content_type, name=name)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("naïve café".encode(), None, "naïve café"),
        ("\ufeffx".encode(), None, "x"),
        ("証拠".encode("utf-16"), None, "証拠"),
        ("証拠".encode("utf-16"), "utf-8", "証拠"),
        ("証拠".encode("shift_jis"), "Shift_JIS", "証拠"),
        ("“q”".encode("cp1252"), "iso-8859-1", "“q”"),
        ("é".encode(), "us-ascii", "Ã©"),
    ],
)
def test_characters_come_from_the_mark_the_declaration_or_utf_8(
    content: bytes, charset: str | None, text: str
) -> None:
    assert decode(content, charset) == text


@pytest.mark.parametrize(
    ("content", "charset", "code"),
    [
        ("café".encode("latin-1"), None, "invalid-utf8"),
        (b"\xed\xa0\x80", None, "invalid-utf8"),
        (b"\xc0\xaf", None, "invalid-utf8"),
        (b"\xff\xfea", None, "invalid-charset"),
        (b"\x81\x20", "euc-jp", "invalid-charset"),
        (b"+ADw-script+AD4-", "utf-7", "charset-not-supported"),
        (b"x", "rot13", "charset-not-supported"),
        (b"x", "no-such-charset", "charset-not-supported"),
        (b"a\x00b", None, "type-mismatch"),
    ],
)
def test_bytes_that_are_not_text_are_refused(
    content: bytes, charset: str | None, code: str
) -> None:
    with pytest.raises(Rejected) as refused:
        decode(content, charset)
    assert refused.value.code == code
