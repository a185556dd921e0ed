import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.domain.strict_json import MAX_DEPTH, Fault, NotStrict, read

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_what_json_writes_is_read_as_it_was(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert read(text) == read(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "fault", "where"),
    [
        (b"", Fault.EMPTY, None),
        (b" \n", Fault.EMPTY, None),
        (b'"\xff"', Fault.ENCODING, None),
        ('"\ud800"', Fault.ENCODING, None),
        ("1".encode("utf-16"), Fault.ENCODING, None),
        (b"{", Fault.SYNTAX, "line 1, column 2"),
        (b"\xef\xbb\xbf1", Fault.SYNTAX, "line 1, column 1"),
        (b"[1]\n 2", Fault.SYNTAX, "line 2, column 2"),
        (b'"\x01"', Fault.SYNTAX, "line 1, column 2"),
        (b"[NaN]", Fault.CONSTANT, "NaN"),
        (b"[-Infinity]", Fault.CONSTANT, "-Infinity"),
        (b"1e999", Fault.RANGE, None),
        (b"9" * 5000, Fault.DIGITS, None),
        (b'{"a":{"b":1,"c":2,"b":1}}', Fault.REPEATED, "b"),
        (b'{"a":1,"\\u0061":2}', Fault.REPEATED, "a"),
        (b'{"":1,"":2}', Fault.REPEATED, ""),
        (b'"\\ud800"', Fault.SURROGATE, None),
        (b'{"a":["\\udc00\\ud800"]}', Fault.SURROGATE, None),
        (b'{"\\udc00":1}', Fault.SURROGATE, None),
        (b"[" * 100_000, Fault.DEPTH, None),
    ],
)
def test_what_is_not_strict_is_told_with_its_place(
    text: bytes | str, fault: Fault, where: str | None
) -> None:
    with pytest.raises(NotStrict) as caught:
        read(text)
    assert (caught.value.fault, caught.value.where) == (fault, where)


def test_a_surrogate_pair_is_one_character_and_an_escaped_backslash_is_no_escape() -> None:
    assert read(b'"\\ud83d\\ude00"') == "\U0001f600"
    assert read(rb'"\\ud800"') == r"\ud800"


@pytest.mark.parametrize("inner", [b"", b"1", b'"a"', b'"\\u0041"'])
def test_arrays_and_objects_lie_in_one_another_up_to_the_cap(inner: bytes) -> None:
    read(b"[" * MAX_DEPTH + inner + b"]" * MAX_DEPTH)
    read(b"[" * 3 + inner + b"]" * 3, max_depth=3)
    read(b'{"a":' * 3 + b"{}" + b"}" * 3, max_depth=4)
    for text, cap in (
        (b"[" * (MAX_DEPTH + 1) + inner + b"]" * (MAX_DEPTH + 1), MAX_DEPTH),
        (b"[" * 4 + inner + b"]" * 4, 3),
        (b'{"a":' * 3 + b"{}" + b"}" * 3, 3),
    ):
        with pytest.raises(NotStrict) as caught:
            read(text, max_depth=cap)
        assert caught.value.fault is Fault.DEPTH


def test_many_objects_side_by_side_are_not_deep() -> None:
    assert read(b"[" + b"{}," * 100 + b"{}]", max_depth=2) == [{}] * 101


def test_the_last_level_s_strings_are_looked_at_too() -> None:
    with pytest.raises(NotStrict) as caught:
        read(b'["\\ud800"]', max_depth=1)
    assert caught.value.fault is Fault.SURROGATE


def test_a_bare_replacement_character_is_refused_where_it_is_asked_for() -> None:
    assert read('"\ufffd"') == "\ufffd"
    assert read(b'"\\ufffd"', replacement_allowed=False) == "\ufffd"
    with pytest.raises(NotStrict) as caught:
        read('"\ufffd"', replacement_allowed=False)
    assert caught.value.fault is Fault.REPLACED
