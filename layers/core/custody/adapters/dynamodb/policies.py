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

    def find(self, digest: str) -> Envelope | None:
        stored = rows.load(Envelope, self._table.get(layout.policy(digest)))
        return stored.value if stored else None

    def get(self, ref: PolicyRef) -> Envelope:
        found = self.find(ref.digest)
        if found is None:
            raise Unavailable(f"The {ref.name} policy is not stored.", code="policy-unavailable")
        return found

    def put(self, ref: PolicyRef, envelope: Envelope) -> None:
        """The first envelope of a digest stays."""
        write(rows.policy_row(self._table, ref.digest, envelope))
