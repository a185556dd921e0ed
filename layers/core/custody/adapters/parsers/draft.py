"""What a format's reader hands on, before and after hygiene looked at it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """Text with where it stood. ``page`` counts from 1."""

    text: str
    heading: str | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """``concealed`` is text that was in the document and isn't shown: inspected, never kept."""

    pieces: tuple[Piece, ...]
    title: str | None = None
    signals: tuple[str, ...] = ()
    active_content_removed: bool = False
    concealed: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """Clean text, and what was noticed on the way."""

    pieces: tuple[Piece, ...]
    title: str | None
    signals: tuple[str, ...]
    active_content_removed: bool
