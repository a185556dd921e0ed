"""Pages, and the secret that positions in them are sealed with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from custody.application.ports import Page
from custody.errors import Unavailable
from custody_memory.ledger.state import State


class MemoryPageSecrets(State):
    def page_secret(self) -> bytes:
        if self._page_secret is None:
            raise Unavailable(
                "No deployment has made the secret of page cursors.", code="policy-unavailable"
            )
        return self._page_secret


def page[T](
    items: list[T], position: Callable[[T], str], limit: int, cursor: str | None
) -> Page[T]:
    by_position: Mapping[str, T] = {position(item): item for item in items}
    after = sorted(place for place in by_position if cursor is None or place > cursor)
    found = tuple(by_position[place] for place in after[:limit])
    return Page(found, after[limit - 1] if len(after) > limit else None)
