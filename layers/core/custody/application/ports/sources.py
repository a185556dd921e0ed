"""Sources: who may publish, and how widely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from custody.application.ports.pages import Page
from custody.domain.ledger.sources import SourceChange
from custody.domain.model import Source, SourceKey


class SourceReads(Protocol):
    def source(self, key: SourceKey) -> Source | None: ...


class SourceLedger(Protocol):
    def put_source(
        self,
        source: Source,
        *,
        expected_revision: int | None,
        by: str | None = None,
        reason: str | None = None,
    ) -> Source:
        """Returns it with its new revision, and keeps the change (as of ``updated_at``) in the same
        transaction. ``None``: create or replace whatever is there. Raises Moved."""
        ...

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]: ...


class SourceHistory(Protocol):
    def source_changes(self, key: SourceKey) -> Sequence[SourceChange]:
        """Every change that was kept, oldest first; empty for a source that never was."""
        ...
