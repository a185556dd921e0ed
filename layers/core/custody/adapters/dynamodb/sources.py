"""Sources in DynamoDB."""

from __future__ import annotations

from dataclasses import replace

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.listing import list_keys
from custody.adapters.dynamodb.table import OnTrust
from custody.adapters.dynamodb.writes import write
from custody.application.ports import Page
from custody.domain.ledger import transitions
from custody.domain.model import Source, SourceKey


class DynamoSources(OnTrust):
    """``SourceReads`` and ``SourceLedger``."""

    def source(self, key: SourceKey) -> Source | None:
        stored = rows.load(Source, self._trust.get(layout.source(key)))
        return stored.value if stored else None

    def put_source(self, source: Source, *, expected_revision: int | None) -> Source:
        for _ in self._trust.pacing.tries():
            stored = self.source(source.key)
            revision = stored.revision if stored else 0
            if expected_revision not in (None, revision):
                raise transitions.moved("source")
            after = replace(source, revision=revision + 1)
            if write(rows.source_row(self._trust, after)):
                return after
        raise self._trust.unavailable("contended")

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]:
        keys, following = list_keys(
            self._trust, [layout.source_listing(tenant)], limit=limit, cursor=cursor
        )
        found = codec.load_many(Source, rows.bodies(self._trust, keys))
        ordered = sorted(found, key=lambda source: source.key.source_id)
        return Page(tuple(ordered), following)
