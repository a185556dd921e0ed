"""Traces in a table of their own, compressed, with a time to live.

DynamoDB removes an expired item when it gets to it, within days: expiry is judged at each read.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from custody.adapters.dynamodb.calls import ITEM_BYTES, Pacing, Table, wire
from custody.adapters.dynamodb.layout import Key, digest
from custody.application.ports import Clock
from custody.errors import IntegrityError, TooLarge

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_TRACE_BYTES = 16 * 1024 * 1024  # unpacked; far above any trace that packs into one item


class DynamoTraces:
    def __init__(
        self, client: DynamoDBClient, table: str, clock: Clock, *, pacing: Pacing | None = None
    ) -> None:
        self._table = Table(client, table, code="trace-unavailable", pacing=pacing)
        self._clock = clock

    def put(
        self,
        tenant: str,
        trace_id: str,
        subject: str,
        trace: Mapping[str, object],
        *,
        expires_at: datetime,
    ) -> None:
        text = json.dumps(trace, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        packed = zlib.compress(text.encode())
        if len(packed) + 2048 > ITEM_BYTES:
            raise TooLarge(
                f"The trace needs {len(packed)} bytes; {ITEM_BYTES} fit.", code="item-too-large"
            )
        self._table.require(
            lambda: self._table.client.put_item(
                TableName=self._table.name,
                Item={
                    **wire(_key(tenant, trace_id)),
                    # the key is a hash: whose trace it is must be found without it
                    "tenant": {"S": tenant},
                    "subject": {"S": subject},
                    "trace": {"B": packed},
                    "expires_at": {"N": str(int(expires_at.timestamp()))},
                },
            )
        )

    def get(self, tenant: str, trace_id: str) -> tuple[str, Mapping[str, object]] | None:
        item = self._table.get(_key(tenant, trace_id))
        if item is None or int(item["expires_at"]["N"]) <= self._clock.now().timestamp():
            return None
        return item["subject"]["S"], _unpack(item["trace"]["B"])


def _key(tenant: str, trace_id: str) -> Key:
    return Key("R#" + digest(tenant, trace_id))


def _unpack(packed: bytes) -> Mapping[str, object]:
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(packed, _TRACE_BYTES)
        if not stream.eof:
            raise IntegrityError("A stored trace can't be read.", code="malformed-item")
        trace: Mapping[str, object] = json.loads(text)
    except (zlib.error, ValueError) as error:
        raise IntegrityError("A stored trace can't be read.", code="malformed-item") from error
    return trace
