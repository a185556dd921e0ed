"""What the function and its child say to each other.

The child has read hostile bytes: of its reply everything is checked, and nothing is believed that
the function knows itself (the type, and what made the text). A reply is a head of JSON, then the
title and the pieces as frames with their lengths: JSON of as many bytes could make an object of
every two of them, and take twenty times its size in the function's memory.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import asdict

from custody.adapters.parsers.budget import most_pieces
from custody.adapters.parsers.draft import Piece, Reading
from custody.adapters.parsers.limits import Limits
from custody.domain import strict_json
from custody.domain.text.media import Media
from custody.errors import Rejected

# How a child ends that has no reply.
OUT_OF_MEMORY, NOT_CONFINED, BROKEN = 3, 4, 5
_NAME = re.compile(r"[a-z0-9-]{1,64}")
_DETAIL_CHARACTERS, _FIELD_CHARACTERS = 500, 100
_SIGNALS = 20
_HEAD_BYTES = 10_000
_LENGTH = struct.Struct("<I")
# Bytes of the text and of the heading, which follow, and the page. 0: no heading, no page.
_FRAME = struct.Struct("<III")


class NotAReply(ValueError):
    """The child said what no reader says."""


def reply_bytes(limits: Limits) -> int:
    """The longest reply: no character takes more than four bytes."""
    frames = (most_pieces(limits.characters) + 1) * _FRAME.size
    return _LENGTH.size + _HEAD_BYTES + frames + 4 * limits.characters


def ask(kind: Media, limits: Limits) -> bytes:
    return json.dumps({"media": asdict(kind), "limits": asdict(limits)}).encode("ascii")


def asked(message: bytes) -> tuple[Media, Limits]:
    request = json.loads(message)
    return Media(**request["media"]), Limits(**request["limits"])


def answer(reading: Reading) -> bytes:
    told = {"signals": reading.signals, "active_content_removed": reading.active_content_removed}
    parts = [_head({"reading": told})]
    for piece in (Piece(reading.title or ""), *reading.pieces):
        text, heading = piece.text.encode(), (piece.heading or "").encode()
        parts += (_FRAME.pack(len(text), len(heading), piece.page or 0), text, heading)
    return b"".join(parts)


def refusal(error: Rejected) -> bytes:
    field = error.field and error.field[:_FIELD_CHARACTERS]
    told = {"detail": error.detail[:_DETAIL_CHARACTERS], "code": error.code, "field": field}
    return _head({"rejected": told})


def answered(reply: bytes | bytearray, limits: Limits) -> Reading:
    """Raises Rejected with what the reader said of the document; NotAReply."""
    told, frames = _opened(memoryview(reply))
    match told:
        case {"rejected": refused, **more} if not more and not frames:
            raise _rejected(refused)
        case {"reading": reading, **more} if not more:
            return _reading(reading, frames, limits)
    raise NotAReply("it is neither text nor a reason")


def _head(told: object) -> bytes:
    # A reason may quote half a surrogate pair.
    head = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
    return _LENGTH.pack(len(head)) + head


def _opened(view: memoryview) -> tuple[object, memoryview]:
    if len(view) < _LENGTH.size:
        raise NotAReply("there is no head")
    (length,) = _LENGTH.unpack_from(view)
    end = _LENGTH.size + length
    if length > _HEAD_BYTES:
        raise NotAReply("the head is too long")
    try:
        return strict_json.read(bytes(view[_LENGTH.size : end])), view[end:]
    except strict_json.NotStrict as error:
        raise NotAReply(str(error)) from error


def _rejected(told: object) -> Rejected:
    match told:
        case {"detail": str(detail), "code": str(code), "field": str() | None as field, **more}:
            if not more and _NAME.fullmatch(code):
                short = field and field[:_FIELD_CHARACTERS]
                return Rejected(detail[:_DETAIL_CHARACTERS], code=code, field=short)
    raise NotAReply("a reason has another form")


def _reading(told: object, frames: memoryview, limits: Limits) -> Reading:
    match told:
        case {"signals": list(signals), "active_content_removed": bool(active), **more}:
            if not more:
                title, *pieces = _pieces(frames, limits)
                if pieces and all(piece.text for piece in pieces) and title == Piece(title.text):
                    return Reading(tuple(pieces), title.text or None, _names(signals), active)
    raise NotAReply("text has another form, or there is none")


def _pieces(frames: memoryview, limits: Limits) -> Iterator[Piece]:
    """The first one is the title. Counted before the next one is made."""
    at, characters, left = 0, limits.characters, most_pieces(limits.characters) + 1
    while at < len(frames) or at == 0:
        piece, at = _piece(frames, at)
        characters -= len(piece.text) + len(piece.heading or "")
        left -= 1
        if characters < 0 or left < 0:
            raise NotAReply("there is too much text")
        yield piece


def _piece(frames: memoryview, at: int) -> tuple[Piece, int]:
    try:
        to_text, to_heading, page = _FRAME.unpack_from(frames, at)
    except struct.error as error:
        raise NotAReply("a frame is cut off") from error
    start = at + _FRAME.size
    middle, end = start + to_text, start + to_text + to_heading
    if end > len(frames):
        raise NotAReply("a piece is cut off")
    try:
        text, heading = str(frames[start:middle], "utf-8"), str(frames[middle:end], "utf-8")
    except UnicodeDecodeError as error:
        raise NotAReply("text is not UTF-8") from error
    return Piece(text, heading or None, page or None), end


def _names(signals: list[object]) -> tuple[str, ...]:
    names = tuple(each for each in signals if isinstance(each, str) and _NAME.fullmatch(each))
    if len(names) != len(signals) or len(names) > _SIGNALS:
        raise NotAReply("a signal has another form")
    return names
