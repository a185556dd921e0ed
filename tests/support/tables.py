"""The tables of the ledger and of the traces, as the template defines them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from custody.adapters.dynamodb import DynamoLedger, Pacing, Table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

PARTS = ("trust", "revocations", "ledger", "work")


def create_ledger(client: DynamoDBClient, prefix: str) -> None:
    """``<prefix>-trust``, ``-revocations``, ``-ledger`` and ``-work``."""
    create_table(client, f"{prefix}-trust", listed=("st",))
    create_table(client, f"{prefix}-revocations")
    create_table(client, f"{prefix}-ledger", listed=("st", "nm"))
    create_table(client, f"{prefix}-work", indexed=True)


def delete_ledger(client: DynamoDBClient, prefix: str) -> None:
    for part in PARTS:
        client.delete_table(TableName=f"{prefix}-{part}")


def table(
    client: DynamoDBClient,
    name: str,
    *,
    pacing: Pacing | None = None,
    new_token: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> Table:
    return Table(client, name, code="ledger-unavailable", pacing=pacing, new_token=new_token)


def ledger_on(
    client: DynamoDBClient,
    prefix: str,
    *,
    pacing: Pacing | None = None,
    new_token: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> DynamoLedger:
    trust, revocations, ledger, work = (
        table(client, f"{prefix}-{part}", pacing=pacing, new_token=new_token) for part in PARTS
    )
    return DynamoLedger(trust, lambda: revocations, ledger, work)


def create_table(
    client: DynamoDBClient, name: str, *, listed: tuple[str, ...] = (), indexed: bool = False
) -> None:
    """``listed``: what its listing index projects; with ``indexed`` it has one that projects
    nothing but keys."""
    indexed = indexed or bool(listed)
    keys = ("pk", "sk", "gsi1pk", "gsi1sk") if indexed else ("pk", "sk")
    included = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(listed)}
    index = {
        "IndexName": "gsi1",
        "KeySchema": [
            {"AttributeName": "gsi1pk", "KeyType": "HASH"},
            {"AttributeName": "gsi1sk", "KeyType": "RANGE"},
        ],
        "Projection": included if listed else {"ProjectionType": "KEYS_ONLY"},
    }
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        **({"GlobalSecondaryIndexes": [index]} if indexed else {}),  # type: ignore[arg-type]  # a literal's type is wider
    )


def create_traces(client: DynamoDBClient, name: str) -> None:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    client.update_time_to_live(
        TableName=name,
        TimeToLiveSpecification={"AttributeName": "expires_at", "Enabled": True},
    )
