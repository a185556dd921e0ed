from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from custody.errors import BadRequest, CustodyError, TooLarge, Unprocessable
from custody.http.body import body_bytes, parse_body, read_json
from custody.http.schemas.common import Schema, Timestamp
from custody.http.schemas.publishing import Metadata


class Inner(Schema):
    value: float = 0.0


class Example(Schema):
    name: str
    count: int = 1
    flag: bool = False
    when: Timestamp | None = None
    inner: Inner | None = None
    metadata: Metadata | None = None
    tags: list[str] | None = None


def refused(raw: bytes) -> tuple[type[CustodyError], str, str | None]:
    with pytest.raises(CustodyError) as caught:
        parse_body(Example, raw)
    return type(caught.value), caught.value.code, caught.value.field


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"   ",
        b"{",
        b'{"name": "a",}',
        b"[]",
        b'"text"',
        b"null",
        b"{'name': 'a'}",
        b'{"name": "a"} trailing',
        b'{"name": "a", "inner": {"value": NaN}}',
        b'{"name": "a", "inner": {"value": Infinity}}',
        b'{"name": "a", "inner": {"value": -Infinity}}',
        b'{"name": "a", "inner": {"value": 1e999}}',
        b'{"name": "a", "count": ' + b"9" * 5000 + b"}",
        b'\xef\xbb\xbf{"name": "a"}',
        b"[" * 40 + b"]" * 40,
        b'{"name":' * 100_000,
    ],
)
def test_what_json_forbids_is_malformed(raw: bytes) -> None:
    assert refused(raw)[:2] == (BadRequest, "malformed-json")


def test_a_repeated_key_is_refused_and_named() -> None:
    assert refused(b'{"name": "a", "name": "b"}') == (BadRequest, "malformed-json", "name")
    assert refused(b'{"name": "a", "inner": {"value": 1, "value": 2}}')[2] == "value"


def test_nesting_is_refused_beyond_its_cap_and_taken_up_to_it() -> None:
    read_json(b"[" * 32 + b"]" * 32)
    with pytest.raises(BadRequest, match="nested"):
        read_json(b"[" * 33 + b"1" + b"]" * 33)


@pytest.mark.parametrize(
    "raw", [b'{"name": "\xff"}', b'{"name": "\\ud800"}', b'{"\\udc00": 1}', b"\xc0\x80"]
)
def test_text_that_is_not_whole_unicode_is_refused(raw: bytes) -> None:
    assert refused(raw)[:2] == (BadRequest, "invalid-utf8")


def test_what_a_gateway_put_for_bytes_that_were_no_utf8_is_refused_unless_it_is_escaped() -> None:
    replaced = b'{"name": "caf\xe9"}'.decode("utf-8", "replace").encode()
    assert refused(replaced)[:2] == (BadRequest, "invalid-utf8")
    assert parse_body(Example, b'{"name": "a \\ufffd"}').name == "a \ufffd"


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse_body(Example, b'{"name": "\\ud83d\\ude00"}').name == "\U0001f600"


def test_an_unknown_field_is_named_wherever_it_stands() -> None:
    assert refused(b'{"name": "a", "nmae": 1}') == (Unprocessable, "unknown-field", "nmae")
    assert refused(b'{"name": "a", "inner": {"x": 1}}')[2] == "inner.x"


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"{}", "name"),
        (b'{"name": 1}', "name"),
        (b'{"name": null}', "name"),
        (b'{"name": "a", "count": "1"}', "count"),
        (b'{"name": "a", "count": 1.5}', "count"),
        (b'{"name": "a", "count": true}', "count"),
        (b'{"name": "a", "flag": "false"}', "flag"),
        (b'{"name": "a", "flag": 0}', "flag"),
        (b'{"name": "a", "when": 1767225600}', "when"),
        (b'{"name": "a", "metadata": {"str": null}}', "metadata.str"),
        (b'{"name": "a", "metadata": {"x": ["y", 1]}}', "metadata.x"),
        (b'{"name": "a", "metadata": {"x": {"y": 1}}}', "metadata.x"),
        (b'{"name": "a", "when": "2026-01-01"}', "when"),
        (b'{"name": "a", "when": "2026-01-01T00:00:00"}', "when"),
        (b'{"name": "a", "when": "2026-W01-1T00:00:00Z"}', "when"),
    ],
)
def test_a_wrong_type_is_named_and_never_converted(raw: bytes, field: str) -> None:
    assert refused(raw) == (Unprocessable, "invalid-field", field)


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b'{"name": "a", "inner": 1}', "Input should be an object."),
        (b'{"name": "a", "metadata": []}', "Input should be an object."),
        (b'{"name": "a", "tags": {}}', "Input should be a valid array."),
        (
            b'{"name": "a", "metadata": {"x": {}}}',
            "The value has none of the forms that this field can have.",
        ),
    ],
)
def test_a_fault_is_told_in_the_words_of_json(raw: bytes, detail: str) -> None:
    with pytest.raises(Unprocessable) as caught:
        parse_body(Example, raw)
    assert caught.value.detail == detail


def test_a_value_of_metadata_keeps_the_type_that_json_gives_it() -> None:
    body = parse_body(Example, b'{"name": "a", "metadata": {"i": 1, "f": 1.0, "b": true}}')
    assert body.metadata is not None
    assert {name: type(value) for name, value in body.metadata.items()} == {
        "i": int,
        "f": float,
        "b": bool,
    }


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"", "A JSON body is needed."),
        (b'{"name": "a"', "The body is not valid JSON: line 1, column 13."),
        (b"[NaN]", "NaN is not a JSON number."),
        (b"[1e999]", "A number is too large."),
        (b"9" * 5000, "A number has too many digits."),
        (b'{"a": 1, "a": 2}', "A key stands twice."),
        (b"[" * 33 + b"1" + b"]" * 33, "The body is nested deeper than 32 levels."),
        (b'"\xff"', "The body is not valid UTF-8."),
        (b'"\\ud800"', "A string holds half a surrogate pair."),
        (
            "\ufffd".encode(),
            "The body is not valid UTF-8, or holds a bare U+FFFD; write that one as \\ufffd.",
        ),
    ],
)
def test_each_fault_of_a_text_has_its_sentence(raw: bytes, detail: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_json(raw)
    assert caught.value.detail == detail


def test_an_offset_is_converted_to_utc() -> None:
    parsed = parse_body(Example, b'{"name": "a", "when": "2026-01-01T01:30:00+01:30"}')
    assert parsed.when == datetime(2026, 1, 1, tzinfo=UTC)
    assert '"2026-01-01T00:00:00Z"' in parsed.model_dump_json()


def test_a_body_over_the_limit_is_refused_plain_or_base64() -> None:
    for body, is_base64 in (("x" * 11, False), ("é" * 6, False)):
        with pytest.raises(TooLarge) as caught:
            body_bytes(body, is_base64=is_base64, limit=10)
        assert caught.value.code == "body-too-large"
    with pytest.raises(TooLarge):
        body_bytes(base64.b64encode(b"x" * 11).decode(), is_base64=True, limit=10)
    assert body_bytes("x" * 10, is_base64=False, limit=10) == b"x" * 10
    assert body_bytes(base64.b64encode(b"x" * 10).decode(), is_base64=True, limit=10) == b"x" * 10


def test_base64_that_is_not_base64_is_refused() -> None:
    with pytest.raises(BadRequest):
        body_bytes("***", is_base64=True)
