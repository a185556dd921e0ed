"""Drops in the ledger: what became of each path under ``incoming/``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from custody.domain.ledger.drops import Drop
from custody.domain.model import SourceKey


class DropReads(Protocol):
    def drop(self, source: SourceKey, name: str) -> Drop | None: ...


class DropLedger(DropReads, Protocol):
    def put_drop(self, drop: Drop) -> Drop:
        """Conditional on ``drop.revision`` (0: absent); returns it with the next revision. Raises
        Moved."""
        ...


class DropListing(Protocol):
    def find_drops(self, tenant: str, name: str) -> Sequence[Drop]:
        """Every source's drop of that name."""
        ...
