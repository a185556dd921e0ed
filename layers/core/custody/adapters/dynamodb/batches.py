"""Batch reads, strongly consistent, of one table or of several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from custody.adapters.dynamodb.calls import Item, Table, wire
from custody.adapters.dynamodb.layout import Key

BATCH_KEYS = 100  # the API's limit for BatchGetItem, over all of its tables

type Wanted = tuple[Table, Key]


def batch(wanted: Sequence[Wanted], *, attributes: Sequence[str] = ()) -> list[Item]:
    """The items that exist, in no order, fetched in parallel; ``attributes`` names the only ones
    wanted. The tables are of one client; the first one's pacing and error code hold for all."""
    unique = list(dict.fromkeys(wanted))
    if not unique:
        return []
    first = unique[0][0]
    pieces = -(-len(unique) // BATCH_KEYS)
    size = -(-len(unique) // pieces)
    chunks = [unique[start : start + size] for start in range(0, len(unique), size)]
    if len(chunks) == 1:
        return _chunk(first, chunks[0], attributes)
    found: list[Item] = []
    for items in first.parallel(lambda chunk: _chunk(first, chunk, attributes), chunks):
        found.extend(items)
    return found


def _chunk(first: Table, wanted: Sequence[Wanted], attributes: Sequence[str]) -> list[Item]:
    shared: dict[str, Any] = {"ConsistentRead": True}
    if attributes:
        shared["ProjectionExpression"] = ", ".join(attributes)
    requests: dict[str, Any] = {}
    for table, key in wanted:
        request = requests.get(table.name)
        if request is None:
            request = requests[table.name] = {"Keys": [], **shared}
        request["Keys"].append(wire(key))
    found: list[Item] = []
    for _ in first.pacing.tries():
        try:
            reply = first.client.batch_get_item(RequestItems=requests)
        except (ClientError, BotoCoreError) as error:
            first.raise_unless_retryable(error)
            continue
        for items in reply.get("Responses", {}).values():
            found.extend(items)
        left = reply.get("UnprocessedKeys", {})
        requests = {
            name: {"Keys": request["Keys"], **shared}
            for name, request in left.items()
            if request["Keys"]
        }
        if not requests:
            return found
    raise first.unavailable("throttled")
