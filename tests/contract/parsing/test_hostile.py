"""Small files that make much: each is refused before the memory for it is taken, with a reason."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable

import pytest

from custody.adapters.parsers.format_parser import FormatParser
from custody.adapters.parsers.limits import Limits
from custody.application.ports import Block
from custody.domain.text import media
from custody.errors import Rejected
from tests.contract.parsing.conftest import MakePdf, Parse

# A worker with its readers takes 50 MB; half of what any document may take is left.
TIGHT = Limits(memory_bytes=250_000_000, seconds=20)


def refused(content: bytes, content_type: str, limits: Limits = TIGHT) -> Rejected:
    with pytest.raises(Rejected) as caught:
        FormatParser(limits).parse(content, content_type=content_type, name="document")
    return caught.value


def _pdf(*objects: bytes) -> bytes:
    out = io.BytesIO(b"%PDF-1.7\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, each in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, each))
    start, count = out.tell(), len(objects) + 1
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % count)
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, start))
    return out.getvalue()


def _stream(data: bytes, more: bytes = b"") -> bytes:
    packed = zlib.compress(data, 9)
    head = b"<< /Length %d /Filter /FlateDecode %s >>" % (len(packed), more)
    return head + b"\nstream\n" + packed + b"\nendstream"


def _pages(count: int, content: bytes, uses: bytes = b"", *more: bytes) -> bytes:
    """Pages that share one stream of drawing, which is object 4; ``more`` begins with 5."""
    first = 5 + len(more)
    kids = b" ".join(b"%d 0 R" % (first + page) for page in range(count))
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F 3 0 R >> %s >> >>" % uses
    )
    return _pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        _stream(content),
        *more,
        *[page] * count,
    )


def _drawn(text: bytes) -> bytes:
    return b"BT /F 9 Tf 10 700 Td (" + text + b") Tj ET "


def _forms_in_forms(levels: int, times: int) -> bytes:
    """Each form draws the next one so many times."""
    forms = []
    for level in range(levels):
        last = level == levels - 1
        body = _drawn(b"lol") if last else b"/X Do " * times
        uses = b"/Font << /F 3 0 R >>" if last else b"/XObject << /X %d 0 R >>" % (6 + level)
        more = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << %s >>" % uses
        forms.append(_stream(body, more))
    return _pages(1, b"/X Do " * times, b"/XObject << /X 5 0 R >>", *forms)


def _csv() -> bytes:
    header = ",".join("h" * 1_000 for _ in range(1_000))
    return (header + "\n" + (",".join("x" * 1_000) + "\n") * 1_500).encode()


def _json_below_a_long_name() -> bytes:
    values = ",".join('{"a": 1}' for _ in range(1_000))
    return ('{"' + "k" * 1_000_000 + '": [' + values + "]}").encode()


def _html_under_a_long_heading() -> bytes:
    return ("<h1>" + "h" * 1_000_000 + "</h1>" + "a<h2></h2>" * 100_000).encode()


TOO_MUCH: dict[str, tuple[Callable[[], bytes], str]] = {
    "a header repeated by each row": (_csv, media.CSV),
    "a name above a thousand values": (_json_below_a_long_name, media.JSON),
    "a name above values, in lines": (_json_below_a_long_name, media.JSON_LINES),
    "a heading above many sections": (_html_under_a_long_heading, media.HTML),
    "the same in Markdown": (_html_under_a_long_heading, media.MARKDOWN),
    "more than twenty million characters": (lambda: b"w" * 20_000_001, media.TEXT),
}


@pytest.mark.parametrize("made", TOO_MUCH)
def test_what_makes_too_much_text_is_refused_before_it_is_made(made: str) -> None:
    make, content_type = TOO_MUCH[made]
    caught = refused(make(), content_type)
    assert caught.code == "too-much-text"
    assert "20000000 characters" in caught.detail


def test_a_stream_that_each_page_draws_is_counted_with_each() -> None:
    limits = Limits(memory_bytes=250_000_000, characters=1_000_000)
    content = _pages(2_000, _drawn(b"word " * 20_000))
    assert refused(content, media.PDF, limits).code == "too-much-text"


def test_pieces_are_counted_too() -> None:
    """What stands around each of them takes memory and room in the child's reply."""
    limits = Limits(characters=6_400)
    caught = refused(b"<h2>h</h2>a" * 102, media.HTML, limits)
    assert (caught.code, "101 pieces" in caught.detail) == ("too-much-text", True)
    page = b"<h2>h</h2>a" * 101
    assert len(FormatParser(limits).parse(page, content_type=media.HTML, name="x").blocks) == 101


def test_exactly_twenty_million_characters_are_read() -> None:
    """Cut to what a test has time for in all but the number itself: one letter, one piece."""
    parsed = FormatParser().parse(b"w" * 20_000_000, content_type=media.TEXT, name="x")
    assert len(parsed.blocks[0].text) == 20_000_000


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        ("<title>{}</title><p>x", media.HTML),
        ("<h1>{}</h1>", media.HTML),
        ("<p hidden>{}</p><p>x", media.HTML),
        ("<img alt='{}'><p>x", media.HTML),
        ("a\n{}", media.CSV),
        ("{}\n", media.CSV),
        ('{{"title": "{}"}}', media.JSON),
        ('{{"text": "{}"}}', media.JSON),
        ('{{"{}": 1}}', media.JSON),
        ('["{}"]', media.JSON),
        ('{{"text": "{}"}}', media.JSON_LINES),
        ("---\ntitle: x\n---\n{}", media.MARKDOWN),
        ("{}", media.TEXT),
    ],
)
def test_every_part_of_every_type_is_counted(content: str, content_type: str) -> None:
    limits = Limits(characters=1_000)
    long = content.format("w " * 501).encode()
    assert refused(long, content_type, limits).code == "too-much-text"
    short = content.format("w " * 100).encode()
    assert FormatParser(limits).parse(short, content_type=content_type, name="x").blocks


def test_the_title_of_a_pdf_is_counted(make_pdf: MakePdf) -> None:
    limits = Limits(characters=1_000)
    assert refused(make_pdf(["x"], title="t" * 1_000), media.PDF, limits).code == "too-much-text"
    content = make_pdf(["x"], title="t" * 999)
    assert FormatParser(limits).parse(content, content_type=media.PDF, name="x").title == "t" * 999


def test_what_a_tab_becomes_is_counted() -> None:
    page = b"<pre>" + b"\t" * 300 + b"x</pre>"
    assert refused(page, media.HTML, Limits(characters=1_000)).code == "too-much-text"


TOO_COMPLEX: dict[str, tuple[Callable[[], bytes], str]] = {
    "a page that unpacks to a gigabyte": (lambda: _pages(1, bytes(1_000_000_000)), media.PDF),
    "a page of text that unpacks to 100 MB": (
        lambda: _pages(1, _drawn(b"word " * 20_000) * 1_000),
        media.PDF,
    ),
    "ten forms to the tenth power": (lambda: _forms_in_forms(10, 10), media.PDF),
    "pages without end": (lambda: _pages(50_000, _drawn(b"lol")), media.PDF),
    "twenty million empty arrays": (lambda: b"[" + b"[]," * 6_000_000 + b"[]]", media.JSON),
    "empty objects": (lambda: b"[" + b"{}," * 6_000_000 + b"{}]", media.JSON),
    "commas without end": (lambda: b"," * 50_000_000, media.CSV),
    "one cell without end": (lambda: b"a\n" + b"x" * 49_000_000, media.CSV),
    "links in links": (lambda: b"![" * 1_000_000, media.MARKDOWN),
}


@pytest.mark.parametrize("made", TOO_COMPLEX)
def test_what_costs_too_much_is_refused_with_a_reason(made: str) -> None:
    make, content_type = TOO_COMPLEX[made]
    limits = Limits(memory_bytes=250_000_000, seconds=3)
    assert refused(make(), content_type, limits).code == "document-too-complex"


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_without_rows_are_counted_before_they_are_read(end: bytes) -> None:
    caught = refused(b"a,b" + end * 2_000_001, media.CSV)
    assert (caught.code, "2000000 lines" in caught.detail) == ("document-too-complex", True)


@pytest.mark.parametrize(
    ("content", "content_type", "code"),
    [
        (b"\xff\xfe" + b"a\x00" * 1_000 + b"a", media.TEXT, "invalid-charset"),
        (b"\xfe\xff" + b"\xd8\x00" * 1_000, media.TEXT, "invalid-charset"),
        (b"\xff\xfe\x00\x00" + b"a\x00\x00", media.TEXT, "invalid-charset"),
        (b"\xff\xfea\x00" + b"\x00\x00" * 10, media.CSV, "type-mismatch"),
        (_pages(1, b"x").replace(b"/Kids [5 0 R]", b"/Kids [2 0 R]"), media.PDF, "malformed-pdf"),
        (_pages(1, b"[" * 1_000_000), media.PDF, "empty-document"),
    ],
)
def test_what_is_broken_is_refused_as_such(content: bytes, content_type: str, code: str) -> None:
    assert refused(content, content_type).code == code


def test_a_pdf_that_lies_of_its_pages_is_read_as_far_as_it_goes(parse: Parse) -> None:
    lying = _pages(1, _drawn(b"one")).replace(b"/Count 1 ", b"/Count 999999999 ")
    assert parse(lying, media.PDF).blocks == (Block("one", page=1),)


@pytest.mark.parametrize("definition", ["[a]: <{}>", "[a]: u '{}'"])
@pytest.mark.parametrize("use", ["[a] ", "![a] "])
def test_what_a_reference_repeats_unseen_costs_nothing(
    parse: Parse, definition: str, use: str
) -> None:
    """Written out with each link, 50 kB would be a gigabyte."""
    page = definition.format("u" * 50_000) + "\n\n" + use * 20_000
    limited = FormatParser(TIGHT).parse(page.encode(), content_type=media.MARKDOWN, name="x")
    assert limited.blocks[0].text.count("a") == 20_000


def test_what_a_link_by_reference_would_do_is_told(parse: Parse) -> None:
    parsed = parse("[a]: javascript:alert(1)\n\n[a]\n", media.MARKDOWN)
    assert parsed.active_content_removed
    assert parsed.blocks == (Block("a"),)


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("shift_jis", "休暇は十六週間です"),
        ("gb18030", "假期为十六周"),
        ("euc-kr", "휴가는 십육 주"),
        ("iso-8859-7", "άδεια"),
        ("utf-16-be", "leave"),
    ],
)
def test_a_declared_charset_is_read_though_the_child_opens_no_file(
    parse: Parse, charset: str, text: str
) -> None:
    parsed = parse(text.encode(charset), f"text/plain; charset={charset}")
    assert parsed.blocks == (Block(text),)


def test_a_charset_that_nobody_knows_is_refused_as_such() -> None:
    assert refused(b"x", "text/plain; charset=klingon").code == "charset-not-supported"
