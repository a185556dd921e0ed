"""Sources in DynamoDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.listing import list_keys
from custody.adapters.dynamodb.table import OnTrust
from custody.adapters.dynamodb.writes import write
from custody.application.ports import Page
from custody.domain.ledger import sources, transitions
from custody.domain.ledger.sources import SourceChange
from custody.domain.model import Source, SourceKey


class DynamoSources(OnTrust):
    """``SourceReads``, ``SourceLedger`` and ``SourceHistory``."""

    def source(self, key: SourceKey) -> Source | None:
        stored = rows.load(Source, self._trust.get(layout.source(key)))
        return stored.value if stored else None

    def put_source(
        self,
        source: Source,
        *,
        expected_revision: int | None,
        by: str | None = None,
        reason: str | None = None,
    ) -> Source:
        for _ in self._trust.pacing.tries():
            stored = self.source(source.key)
            revision = stored.revision if stored else 0
            if expected_revision not in (None, revision):
                raise transitions.moved("source")
            after = replace(source, revision=revision + 1)
            change = sources.change_of(after, by=by, reason=reason)
            if write(
                rows.source_row(self._trust, after),
                rows.source_change_row(self._trust, after.key, change),
            ):
                return after
        raise self._trust.unavailable("contended")

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]:
        keys, following = list_keys(
            self._trust, [layout.source_listing(tenant)], limit=limit, cursor=cursor
        )
        found = codec.load_many(Source, rows.bodies(self._trust, keys))
        ordered = sorted(found, key=lambda source: source.key.source_id)
        return Page(tuple(ordered), following)

    def source_changes(self, key: SourceKey) -> Sequence[SourceChange]:
        found = rows.every(self._trust, layout.source(key).pk, layout.SOURCE_CHANGE)
        return tuple(codec.load_many(SourceChange, found))
