"""Sources: who may publish, and how widely."""

from __future__ import annotations

from typing import Protocol

from custody.application.ports.pages import Page
from custody.domain.model import Source, SourceKey


class SourceReads(Protocol):
    def source(self, key: SourceKey) -> Source | None: ...


class SourceLedger(Protocol):
    def put_source(self, source: Source, *, expected_revision: int | None) -> Source:
        """Returns it with its new revision. ``None``: create or replace whatever is there. Raises
        Moved."""
        ...

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]: ...
