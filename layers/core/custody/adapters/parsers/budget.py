"""How much text a document may still make."""

from __future__ import annotations

from custody.adapters.parsers.draft import Piece
from custody.errors import Rejected

# What a piece takes beside its characters, here and in every copy and message that holds it, is
# worth this many of them.
_PIECE_CHARACTERS = 64


def most_pieces(limit: int) -> int:
    """Of a document that may make ``limit`` characters."""
    return limit // _PIECE_CHARACTERS + 1


class Budget:
    """Characters, and pieces of text, that are left of a document's ``limit`` of characters.

    Every reader takes from it what it is about to make, before it makes it: a heading that each row
    repeats is small in the file and large in the text.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._characters = limit
        self._pieces = most_pieces(limit)

    def take(self, characters: int) -> None:
        """Raises Rejected(too-much-text) once more was taken than there was."""
        self._characters -= characters
        if self._characters < 0:
            raise _too_much(f"{self._limit} characters")

    def piece(self, text: str, heading: str | None = None, page: int | None = None) -> Piece:
        """A piece whose text was paid for already. Its heading is written out with each piece.
        Raises Rejected(too-much-text)."""
        self.take(len(heading or ""))
        self._pieces -= 1
        if self._pieces < 0:
            raise _too_much(f"{most_pieces(self._limit)} pieces")
        return Piece(text, heading, page)


def _too_much(what: str) -> Rejected:
    return Rejected(f"The document makes more than {what} of text.", code="too-much-text")
