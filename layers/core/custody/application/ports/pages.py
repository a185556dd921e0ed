"""Listings, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Page[T]:
    items: tuple[T, ...]
    next: str | None = None


class Cursors(Protocol):
    """Positions in a listing, as callers carry them from page to page: a position names what comes
    next, which its caller need not be allowed to see."""

    def seal(self, position: str | None, *, listing: bytes) -> str | None:
        """``listing``: what is listed, with which filter, for whom. A cursor is good there only.
        None (the end) stays None."""
        ...

    def open(self, cursor: str | None, *, listing: bytes) -> str | None:
        """Raises BadRequest(invalid-cursor)."""
        ...


class PageSecrets(Protocol):
    def page_secret(self) -> bytes:
        """32 bytes of the deployment's own: what positions in listings are sealed with. Raises
        Unavailable(policy-unavailable) before a deployment has made them."""
        ...
