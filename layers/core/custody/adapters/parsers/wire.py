"""What the function and its child say to each other.

The child has read hostile bytes: of its reply everything is checked, and nothing is believed that
the function knows itself (the type, and what made the text).
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict

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


class NotAReply(ValueError):
    """The child said what no reader says."""


def reply_bytes(limits: Limits) -> int:
    """The longest reply: four bytes a character, which is more than any escape takes, as many as
    a character for what stands around a piece (``Budget``), and something for the rest."""
    return 5 * limits.characters + 100_000


def ask(kind: Media, limits: Limits) -> bytes:
    return json.dumps({"media": asdict(kind), "limits": asdict(limits)}).encode("ascii")


def asked(message: bytes) -> tuple[Media, Limits]:
    request = json.loads(message)
    return Media(**request["media"]), Limits(**request["limits"])


def answer(reading: Reading) -> bytes:
    told = {
        "pieces": [[piece.text, piece.heading, piece.page] for piece in reading.pieces],
        "title": reading.title,
        "signals": reading.signals,
        "active_content_removed": reading.active_content_removed,
    }
    return json.dumps({"reading": told}, ensure_ascii=False).encode("utf-8")


def refusal(error: Rejected) -> bytes:
    told = {"detail": error.detail, "code": error.code, "field": error.field}
    return json.dumps({"rejected": told}, ensure_ascii=False).encode("utf-8", "replace")


def answered(reply: bytes | bytearray, limits: Limits) -> Reading:
    """Raises Rejected with what the reader said of the document; NotAReply."""
    try:
        told = strict_json.read(bytes(reply))
    except strict_json.NotStrict as error:
        raise NotAReply(str(error)) from error
    match told:
        case {"rejected": refused, **more} if not more:
            raise _rejected(refused)
        case {"reading": reading, **more} if not more:
            return _reading(reading, limits)
    raise NotAReply("it is neither text nor a reason")


def _rejected(told: object) -> Rejected:
    match told:
        case {"detail": str(detail), "code": str(code), "field": str() | None as field}:
            if _NAME.fullmatch(code):
                short = field and field[:_FIELD_CHARACTERS]
                return Rejected(detail[:_DETAIL_CHARACTERS], code=code, field=short)
    raise NotAReply("a reason has another form")


def _reading(told: object, limits: Limits) -> Reading:
    match told:
        case {
            "pieces": list(pieces),
            "title": str() | None as title,
            "signals": list(signals),
            "active_content_removed": bool(active),
            **more,
        } if not more:
            reading = Reading(tuple(map(_piece, pieces)), title, _names(signals), active)
            if reading.pieces and _characters(reading) <= limits.characters:
                return reading
    raise NotAReply("text has another form, or there is none or too much of it")


def _piece(told: object) -> Piece:
    match told:
        case [str(text), str() | None as heading, int() | None as page]:
            if page is None or (page > 0 and not isinstance(page, bool)):
                return Piece(text, heading, page)
    raise NotAReply("a piece has another form")


def _names(signals: list[object]) -> tuple[str, ...]:
    names = tuple(each for each in signals if isinstance(each, str) and _NAME.fullmatch(each))
    if len(names) != len(signals) or len(names) > _SIGNALS:
        raise NotAReply("a signal has another form")
    return names


def _characters(reading: Reading) -> int:
    pieces = sum(len(piece.text) + len(piece.heading or "") for piece in reading.pieces)
    return pieces + len(reading.title or "")
