"""What the child says is checked before anything of it is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from custody.adapters.parsers import wire
from custody.adapters.parsers.draft import Piece, Reading
from custody.adapters.parsers.limits import Limits
from custody.domain.text.media import Media
from custody.errors import Rejected

LIMITS = Limits(characters=1_000)
READING: dict[str, Any] = {
    "pieces": [["text", "heading", 1], ["more", None, None]],
    "title": "T",
    "signals": ["hidden-text"],
    "active_content_removed": True,
}


def said(reply: object) -> bytes:
    return json.dumps(reply).encode()


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
        {"pieces": []},
        {"pieces": "text"},
        {"pieces": [["text", None]]},
        {"pieces": [["text", None, None, None]]},
        {"pieces": [[None, None, None]]},
        {"pieces": [["text", 1, None]]},
        {"pieces": [["text", None, "1"]]},
        {"pieces": [["text", None, True]]},
        {"pieces": [["text", None, 0]]},
        {"pieces": [{"text": "x"}]},
        {"pieces": [["x" * 1_001, None, None]]},
        {"pieces": [["x" * 600, None, None], ["x", "h" * 600, None]]},
        {"title": 1},
        {"title": "t" * 1_001},
        {"signals": "hidden-text"},
        {"signals": [1]},
        {"signals": ["Not a signal"]},
        {"signals": ["x"] * 21},
        {"active_content_removed": 1},
        {"more": 1},
    ],
)
def test_a_reply_of_another_form_is_none(change: dict[str, object]) -> None:
    assert wire.answered(said({"reading": READING}), LIMITS).title == "T"
    with pytest.raises(wire.NotAReply):
        wire.answered(said({"reading": {**READING, **change}}), LIMITS)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\xff",
        b"{",
        b"[" * 100_000,
        b'{"reading": {}} {}',
        said([]),
        said({}),
        said({"reading": READING, "rejected": None}),
        said({"rejected": {"detail": "x", "code": "x"}}),
        said({"rejected": {"detail": "x", "code": "Not a code", "field": None}}),
        said({"rejected": {"detail": "x", "code": "c" * 65, "field": None}}),
        said({"rejected": {"detail": 1, "code": "x", "field": None}}),
        said({"rejected": {"detail": "x", "code": "x", "field": 1}}),
        said({"reading": {**READING, "title": "\ud800"}}),
    ],
)
def test_nonsense_is_no_reply(reply: bytes) -> None:
    with pytest.raises(wire.NotAReply):
        wire.answered(reply, LIMITS)


def test_a_reason_is_no_place_for_a_document() -> None:
    with pytest.raises(Rejected) as caught:
        wire.answered(
            said({"rejected": {"detail": "d" * 9_999, "code": "x", "field": "f" * 9_999}}), LIMITS
        )
    assert len(caught.value.detail) == 500
    assert caught.value.field == "f" * 100


def test_the_longest_reply_has_room_for_any_text() -> None:
    """Of as many characters and pieces as may be."""
    for character in ("\n", '"', "\\", "é", "語", "😀"):
        whole = Reading((Piece(character * 1_000),), None, (), active_content_removed=False)
        assert len(wire.answer(whole)) <= wire.reply_bytes(LIMITS)
    parts = Reading((Piece("x", None, 2_000),) * 16, None, (), active_content_removed=False)
    assert len(wire.answer(parts)) - len(wire.answer(whole)) < 16 * 64
