"""Superseded versions that are due to go, by a listing that holds nothing else.

A version enters the listing in the write that supersedes it, and leaves it in the one that lets go
of its files: a run that was broken off is taken up by the next one, which finds what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from custody.adapters.dynamodb import layout, rows
from custody.adapters.dynamodb.batches import BATCH_KEYS, batch
from custody.adapters.dynamodb.layout import Key
from custody.adapters.dynamodb.records import DynamoVersionReads
from custody.domain.ledger import retention
from custody.domain.model import DocumentKey, VersionRecord

_PAGE = BATCH_KEYS


class DynamoRetention(DynamoVersionReads):
    """``Retention``."""

    def superseded_through(self, through: datetime) -> Iterator[VersionRecord]:
        for shard in range(layout.LISTING_SHARDS):
            for keys in self._listed(shard, through):
                # The index may lag: what is due is what the table says now.
                for item in batch([(self._work, key) for key in keys]):
                    stored = rows.load_version(item)
                    if stored is not None and retention.is_due(stored.value, through):
                        yield stored.value

    def _listed(self, shard: int, through: datetime) -> Iterator[list[Key]]:
        resume: dict[str, Any] = {}
        while True:
            reply = self._work.query(
                IndexName=layout.LISTING,
                KeyConditionExpression="gsi1pk = :shard AND gsi1sk <= :through",
                ExpressionAttributeValues={
                    ":shard": {"S": layout.superseded_listing(shard)},
                    ":through": {"S": layout.superseded_position(through)},
                },
                Limit=_PAGE,
                **resume,
            )
            yield [Key(item["pk"]["S"], item["sk"]["S"]) for item in reply["Items"]]
            if "LastEvaluatedKey" not in reply:
                return
            resume = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def expire(
        self, key: DocumentKey, version: int, *, through: datetime, at: datetime
    ) -> VersionRecord:
        return self._change(
            key, version, lambda record: retention.expired(record, through=through, at=at)
        )

    def let_go(self, key: DocumentKey, version: int) -> None:
        self._change(key, version, retention.let_go)
