"""Drops in DynamoDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.table import OnWork
from custody.adapters.dynamodb.writes import write
from custody.domain.ledger import transitions
from custody.domain.ledger.drops import Drop
from custody.domain.model import SourceKey


class DynamoDrops(OnWork):
    """``DropLedger`` and ``DropListing``."""

    def drop(self, source: SourceKey, name: str) -> Drop | None:
        stored = rows.load(Drop, self._work.get(layout.drop(source, name)))
        return rows.named_drop(stored.value, name) if stored else None

    def put_drop(self, drop: Drop) -> Drop:
        after = replace(drop, revision=drop.revision + 1)
        if not write(rows.drop_row(self._work, after)):
            raise transitions.moved("drop")
        return after

    def find_drops(self, tenant: str, name: str) -> Sequence[Drop]:
        arguments: dict[str, Any] = {
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": layout.drops(tenant, name)}},
            "ConsistentRead": True,
        }
        bodies: list[str] = []
        while True:
            reply = self._work.query(**arguments)
            bodies += [item["body"]["S"] for item in reply["Items"]]
            if "LastEvaluatedKey" not in reply:
                return tuple(rows.named_drop(drop, name) for drop in codec.load_many(Drop, bodies))
            arguments["ExclusiveStartKey"] = reply["LastEvaluatedKey"]
