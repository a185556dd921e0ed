"""Pages over the write-sharded listing index.

Each shard is read in order from the cursor on; the pages are merged by position. The index lags
behind the table by moments and says only what is on a page: the items themselves are then read
from the table, strongly consistent. With a filter that matches little, a page may be short, even
empty, and still name a next one: a call reads a bounded amount.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from custody.adapters.dynamodb.calls import Table
from custody.adapters.dynamodb.layout import LISTING, Key
from custody.errors import BadRequest

_QUERIES = 4
_FILTERED_LIMIT = 500
_FIRST, _LAST = "!", "\U0010ffff"
_CURSOR_BYTES = 1024  # the API's limit for a sort key


@dataclass(frozen=True, slots=True)
class _Shard:
    """``read_to``: the position up to which it was read; None when it was read to its end."""

    rows: list[tuple[str, Key]]
    read_to: str | None


def list_keys(
    table: Table,
    partitions: Sequence[str],
    *,
    limit: int,
    cursor: str | None,
    prefix: str | None = None,
    equal: Mapping[str, str] | None = None,
) -> tuple[list[Key], str | None]:
    """(keys of the page in order, the next cursor). ``prefix``: only positions ``<prefix>#…``."""
    if cursor is not None and not 0 < len(cursor.encode()) <= _CURSOR_BYTES:
        raise BadRequest("The cursor is not one of ours.", code="invalid-cursor", field="next")
    start = f"{prefix}#" if prefix else _FIRST
    first = max(cursor or start, start)
    last = f"{prefix}$" if prefix else _LAST  # "$" follows "#"
    if first > last:
        return [], None
    request = _request(first, last, equal or {}, limit)
    shards = table.parallel(
        lambda partition: _read(table, partition, request, limit, cursor), partitions
    )
    ends = [shard.read_to for shard in shards if shard.read_to is not None]
    known_to = min(ends, default=None)
    merged = sorted(
        (row for shard in shards for row in shard.rows if known_to is None or row[0] <= known_to),
        key=lambda row: row[0],
    )
    page = merged[:limit]
    following = page[-1][0] if len(merged) > limit else known_to
    return [key for _, key in page], following


def _request(first: str, last: str, equal: Mapping[str, str], limit: int) -> dict[str, Any]:
    request: dict[str, Any] = {
        "IndexName": LISTING,
        "KeyConditionExpression": "gsi1pk = :partition AND gsi1sk BETWEEN :first AND :last",
        "ExpressionAttributeValues": {":first": {"S": first}, ":last": {"S": last}},
        "Limit": limit + 2,  # the cursor's own row and one beyond the page
    }
    if equal:
        request["Limit"] = max(limit + 2, _FILTERED_LIMIT)
        request["FilterExpression"] = " AND ".join(f"#{name} = :{name}" for name in equal)
        request["ExpressionAttributeNames"] = {f"#{name}": name for name in equal}
        for name, value in equal.items():
            request["ExpressionAttributeValues"][f":{name}"] = {"S": value}
    return request


def _read(
    table: Table, partition: str, request: Mapping[str, Any], limit: int, cursor: str | None
) -> _Shard:
    values = {**request["ExpressionAttributeValues"], ":partition": {"S": partition}}
    arguments = {**request, "ExpressionAttributeValues": values}
    rows: list[tuple[str, Key]] = []
    read_to: str | None = None
    for _ in range(_QUERIES):
        reply = table.query(**arguments)
        rows += [
            (item["gsi1sk"]["S"], Key(item["pk"]["S"], item["sk"]["S"]))
            for item in reply["Items"]
            if item["gsi1sk"]["S"] != cursor
        ]
        resume = reply.get("LastEvaluatedKey")
        read_to = resume["gsi1sk"]["S"] if resume else None
        if resume is None or len(rows) > limit:
            break
        arguments["ExclusiveStartKey"] = resume
    return _Shard(rows, read_to)
