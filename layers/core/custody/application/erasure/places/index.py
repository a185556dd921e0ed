"""The entries of the search index, the history's too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from custody.application.ports import WritableIndex
from custody.domain.index.candidates import Space
from custody.domain.ledger.erasures import Erasure
from custody.errors import Unavailable


@dataclass(frozen=True, slots=True)
class IndexEntries:
    name: ClassVar[str] = "index"
    index: WritableIndex

    def concerns(self, _: Erasure) -> bool:
        return True

    def erase(self, erasure: Erasure) -> str | None:
        key, through = erasure.key, erasure.through_version
        spaces = (Space.of(key), Space.history_of(key))
        for space in spaces:
            self.index.delete(space, key, through=through)
        self.index.refresh(spaces)
        for space in spaces:
            if self.index.left(space, key) != 0 and any(
                self.index.left(space, key, version) for version in range(1, through + 1)
            ):
                raise Unavailable("Chunks can still be found.", code="index-unavailable")
        return "Gone from searches; the index reclaims its space when it merges segments."
