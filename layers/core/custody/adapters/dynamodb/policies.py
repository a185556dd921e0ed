"""Signed policies, in the trust table, by digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from custody.adapters.dynamodb import layout, rows
from custody.adapters.dynamodb.calls import Pacing, Table
from custody.adapters.dynamodb.writes import write
from custody.domain.model import Envelope, PolicyRef
from custody.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoPolicies:
    def __init__(self, client: DynamoDBClient, table: str, *, pacing: Pacing | None = None) -> None:
        self._table = Table(client, table, code="policy-unavailable", pacing=pacing)

    def get(self, ref: PolicyRef) -> Envelope:
        stored = rows.load(Envelope, self._table.get(layout.policy(ref.digest)))
        if stored is None:
            raise Unavailable(f"The {ref.name} policy is not stored.", code="policy-unavailable")
        return stored.value

    def put(self, ref: PolicyRef, envelope: Envelope) -> None:
        """The first envelope of a digest stays."""
        write(rows.policy_row(self._table, ref.digest, envelope))
