import math

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from custody.domain.model import Chunk
from custody.domain.provenance.canonical import canonical_json, digest, leaf_bytes, parse_json
from custody.errors import IntegrityError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
CHUNKS = st.builds(
    Chunk,
    document_id=TEXTS,
    version=INTEGERS,
    ordinal=INTEGERS,
    title=st.none() | TEXTS,
    heading=st.none() | TEXTS,
    page=st.none() | INTEGERS,
    text=TEXTS,
)


def as_json(chunk: Chunk) -> dict[str, str | int | None]:
    return {
        "document": chunk.document_id,
        "version": chunk.version,
        "ordinal": chunk.ordinal,
        "title": chunk.title,
        "heading": chunk.heading,
        "page": chunk.page,
        "text": chunk.text,
    }


@given(CHUNKS)
def test_the_fast_writer_of_leaves_equals_rfc_8785(chunk: Chunk) -> None:
    assert leaf_bytes(chunk) == rfc8785.dumps(as_json(chunk))


def test_every_control_character_is_escaped_as_rfc_8785_says() -> None:
    text = "".join(chr(code) for code in range(0x100)) + "\u2028\u2029\ufeff😀"
    chunk = Chunk("d", 1, 0, text, text, 1, text)
    assert leaf_bytes(chunk) == rfc8785.dumps(as_json(chunk))


@pytest.mark.parametrize("field", ["document_id", "title", "heading", "text"])
def test_a_lone_surrogate_is_refused_by_both_writers(field: str) -> None:
    values = {"document_id": "d", "title": "t", "heading": "h", "text": "x", field: "a\ud800b"}
    chunk = Chunk(version=1, ordinal=0, page=None, **values)
    for write in (leaf_bytes, lambda of: canonical_json(as_json(of))):
        with pytest.raises(IntegrityError) as caught:
            write(chunk)
        assert caught.value.code == "not-canonical"


@pytest.mark.parametrize("field", ["version", "ordinal", "page"])
def test_an_integer_that_no_double_holds_is_refused(field: str) -> None:
    values = {"version": 1, "ordinal": 0, "page": 1, field: 2**53}
    with pytest.raises(IntegrityError) as caught:
        leaf_bytes(Chunk(document_id="d", title=None, heading=None, text="x", **values))
    assert caught.value.code == "not-canonical"


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**53, {1: 2}, b"bytes", "\udc00"])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(IntegrityError) as caught:
        canonical_json(value)
    assert caught.value.code == "not-canonical"


def test_members_are_sorted_by_utf_16_units_as_in_the_rfc_s_example() -> None:
    # RFC 8785, section 3.2.3
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"): "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    written = parse_json(canonical_json(value))
    assert isinstance(written, dict)
    assert list(written.values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_a_digest_depends_on_the_value_not_on_the_order_of_members() -> None:
    assert digest({"a": 1, "b": [1.0, None]}) == digest({"b": [1, None], "a": 1})


@pytest.mark.parametrize(
    "data",
    [b'{"a":1,"a":2}', b"[NaN]", b"[Infinity]", b"{", b'"\xff"', b"[" * 100_000, b"",
     b"[" * 33 + b"]" * 33, b"1e999", b'"\\ud800"'],
    ids=["repeated name", "NaN", "Infinity", "cut", "not UTF-8", "too deep", "empty",
         "a little too deep", "too large", "half a pair"],
)  # fmt: skip
def test_json_that_was_signed_is_read_strictly(data: bytes) -> None:
    with pytest.raises(IntegrityError) as caught:
        parse_json(data)
    assert caught.value.code == "malformed-json"
