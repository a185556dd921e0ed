"""What the child says is checked before anything of it is believed."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from custody.adapters.parsers import wire
from custody.adapters.parsers.draft import Piece, Reading
from custody.adapters.parsers.limits import Limits
from custody.domain.text.media import Media
from custody.errors import Rejected

LIMITS = Limits(characters=1_000)
HEAD: dict[str, Any] = {"signals": ["hidden-text"], "active_content_removed": True}
TITLE = (b"T", b"", 0)
PIECES = [(b"text", b"heading", 1), (b"more", b"", 0)]


def said(head: object, *frames: tuple[bytes, bytes, int]) -> bytes:
    told = json.dumps(head).encode()
    parts = [struct.pack("<I", len(told)), told]
    for text, heading, page in frames:
        parts += [struct.pack("<III", len(text), len(heading), page), text, heading]
    return b"".join(parts)


GOOD = said({"reading": HEAD}, TITLE, *PIECES)


def test_a_request_and_a_reply_come_back_as_they_were() -> None:
    kind = Media("text/html", "shift_jis")
    assert wire.asked(wire.ask(kind, LIMITS)) == (kind, LIMITS)
    reading = Reading(
        (Piece('é\n\t"\\😀', "h", 2), Piece("x")),
        None,
        ("hidden-text",),
        active_content_removed=False,
    )
    assert wire.answered(wire.answer(reading), LIMITS) == reading


def test_a_refusal_comes_back_as_it_was() -> None:
    refused = Rejected("No.", code="malformed-csv", field="line 2")
    with pytest.raises(Rejected) as caught:
        wire.answered(wire.refusal(refused), LIMITS)
    again = caught.value
    assert (again.detail, again.code, again.field) == ("No.", "malformed-csv", "line 2")


@pytest.mark.parametrize(
    "change",
    [
        {"signals": "hidden-text"},
        {"signals": [1]},
        {"signals": ["Not a signal"]},
        {"signals": ["x"] * 21},
        {"active_content_removed": 1},
        {"more": 1},
    ],
)
def test_a_reply_of_another_form_is_none(change: dict[str, object]) -> None:
    assert wire.answered(GOOD, LIMITS) == Reading(
        (Piece("text", "heading", 1), Piece("more")), "T", ("hidden-text",), True
    )
    with pytest.raises(wire.NotAReply):
        wire.answered(said({"reading": {**HEAD, **change}}, TITLE, *PIECES), LIMITS)


@pytest.mark.parametrize(
    "frames",
    [
        (),
        (TITLE,),
        (TITLE, (b"", b"heading", 1)),
        (TITLE, *PIECES, (b"", b"", 0)),
        ((b"T", b"heading", 0), *PIECES),
        ((b"T", b"", 1), *PIECES),
        ((b"t" * 1_001, b"", 0), *PIECES),
        (TITLE, (b"x" * 1_001, b"", 0)),
        (TITLE, (b"x" * 600, b"", 0), (b"x", b"h" * 600, 0)),
        (TITLE, (b"\xff", b"", 0)),
        (TITLE, (b"x", b"\xed\xa0\x80", 0)),
    ],
)
def test_text_of_another_form_is_none(frames: tuple[tuple[bytes, bytes, int], ...]) -> None:
    with pytest.raises(wire.NotAReply):
        wire.answered(said({"reading": HEAD}, *frames), LIMITS)


def test_no_more_pieces_are_made_than_a_reader_makes() -> None:
    """Each takes many times the bytes that it has in the reply."""
    most = 1_000 // 64 + 1
    assert len(wire.answered(said({"reading": HEAD}, TITLE, *PIECES * 8), LIMITS).pieces) == most
    with pytest.raises(wire.NotAReply, match="too much"):
        wire.answered(said({"reading": HEAD}, TITLE, *PIECES * 8, PIECES[0]), LIMITS)


def test_a_head_is_short_whatever_it_holds() -> None:
    """Of JSON, two bytes may make an object."""
    assert wire.answered(said({"reading": HEAD}, TITLE, *PIECES), LIMITS).title == "T"
    padded = json.dumps({"reading": HEAD}).encode() + b" " * 10_000
    with pytest.raises(wire.NotAReply, match="head is too long"):
        wire.answered(struct.pack("<I", len(padded)) + padded + GOOD[-100:], LIMITS)


def test_a_reply_that_is_cut_off_is_none() -> None:
    for length in range(len(GOOD)):
        if length == GOOD.index(b"more") - 12:
            continue  # one piece less is a reply too
        with pytest.raises(wire.NotAReply):
            wire.answered(GOOD[:length], LIMITS)


@pytest.mark.parametrize(
    "head",
    [
        [],
        {},
        {"reading": HEAD, "rejected": None},
        {"rejected": {"detail": "x", "code": "x"}},
        {"rejected": {"detail": "x", "code": "x", "field": None, "more": 1}},
        {"rejected": {"detail": "x", "code": "Not a code", "field": None}},
        {"rejected": {"detail": "x", "code": "c" * 65, "field": None}},
        {"rejected": {"detail": 1, "code": "x", "field": None}},
        {"rejected": {"detail": "x", "code": "x", "field": 1}},
        {"rejected": {"detail": "\ud800", "code": "x", "field": None}},
    ],
)
def test_nonsense_is_no_reply(head: object) -> None:
    for frames in ((), (TITLE, *PIECES)):
        with pytest.raises(wire.NotAReply):
            wire.answered(said(head, *frames), LIMITS)


@pytest.mark.parametrize("head", [b"", b"\xff", b"{", b"[" * 9_000, b'{"reading": {}} {}'])
def test_a_head_that_is_no_json_is_none(head: bytes) -> None:
    with pytest.raises(wire.NotAReply):
        wire.answered(struct.pack("<I", len(head)) + head, LIMITS)


def test_a_reason_with_text_beside_it_is_no_reply() -> None:
    refused = {"rejected": {"detail": "x", "code": "x", "field": None}}
    with pytest.raises(Rejected):
        wire.answered(said(refused), LIMITS)
    with pytest.raises(wire.NotAReply):
        wire.answered(said(refused, TITLE), LIMITS)


def test_a_reason_may_quote_what_is_no_character() -> None:
    with pytest.raises(Rejected, match="a name: \\?"):
        wire.answered(wire.refusal(Rejected("a name: \ud800", code="x")), LIMITS)


def test_a_reason_is_no_place_for_a_document() -> None:
    with pytest.raises(Rejected) as caught:
        wire.answered(
            said({"rejected": {"detail": "d" * 4_000, "code": "x", "field": "f" * 4_000}}), LIMITS
        )
    assert len(caught.value.detail) == 500
    assert caught.value.field == "f" * 100


def test_the_longest_reply_has_room_for_any_text() -> None:
    """Of as many characters and pieces as may be, with a head as long as may be."""
    limits = Limits(characters=100_000)
    most = 100_000 // 64 + 1
    for character in ("\n", '"', "\\", "é", "語", "😀"):
        whole = Reading((Piece(character * 100_000),), None, (), active_content_removed=False)
        parts = Reading(
            (
                Piece(character * (100_000 - most + 1)),
                *[Piece(character, None, 2_000)] * (most - 1),
            ),
            None,
            ("s" * 64,) * 20,
            active_content_removed=False,
        )
        for reading in (whole, parts):
            assert len(wire.answer(reading)) <= wire.reply_bytes(limits)
            assert wire.answered(wire.answer(reading), limits) == reading


def test_the_longest_reason_fits_into_a_head() -> None:
    for character in ("x", "\x01", "😀"):
        refused = Rejected(character * 9_999, code="c" * 64, field=character * 9_999)
        with pytest.raises(Rejected) as caught:
            wire.answered(wire.refusal(refused), LIMITS)
        assert caught.value.detail == character * 500
