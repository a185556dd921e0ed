"""Conditional writes, of one table or of several in one transaction.

A write carries a token of its own, kept in each item it touches. Where a reply was lost, or the
SDK repeated a write that had been applied, the condition fails although the write took place: the
items are then read back, and our own token in one of them is success.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from custody.adapters.dynamodb.batches import batch
from custody.adapters.dynamodb.calls import ITEM_BYTES, Table, Uncertain, Value, wire
from custody.adapters.dynamodb.layout import Key
from custody.errors import TooLarge

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import UpdateTypeDef


@dataclass(frozen=True, slots=True)
class Row:
    """One item as it shall be after a write. ``expected`` 0: it must not be there yet."""

    table: Table
    key: Key
    body: str
    expected: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    remove: tuple[str, ...] = ()

    def size(self) -> int:
        """Bytes of the item, near enough above DynamoDB's own count."""
        fixed = len(self.key.pk) + len(self.key.sk) + 120
        return (
            fixed
            + len(self.body.encode())
            + sum(len(name) + len(str(value).encode()) for name, value in self.attributes.items())
        )


def write(*rows: Row) -> bool:
    """All rows or none, each on its ``expected`` revision. False: another write came first. The
    tables are of one client; the first one's pacing and error code hold for all."""
    for row in rows:
        if row.size() > ITEM_BYTES:
            raise TooLarge(
                f"The record needs {row.size()} bytes; {ITEM_BYTES} fit.", code="item-too-large"
            )
    first = rows[0].table
    token = first.new_token()
    updates = [_update(row, token) for row in rows]
    try:
        applied = first.attempt(lambda: _send(first, updates, token))
    except Uncertain:
        if _is_ours(rows, token):
            return True
        raise
    return applied or _is_ours(rows, token)


def _send(first: Table, updates: Sequence[UpdateTypeDef], token: str) -> None:
    if len(updates) == 1:
        first.client.update_item(**updates[0])
    else:
        first.client.transact_write_items(
            TransactItems=[{"Update": update} for update in updates], ClientRequestToken=token
        )


def _update(row: Row, token: str) -> UpdateTypeDef:
    """An update, not a put: attributes that are changed on their own (the parts) stay."""
    values: dict[str, Value] = {
        "body": {"S": row.body},
        "rev": {"N": str(row.expected + 1)},
        "tok": {"S": token},
        **row.attributes,
    }
    names = [*values, *row.remove]
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
    if row.remove:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in row.remove)
    update: UpdateTypeDef = {
        "TableName": row.table.name,
        "Key": wire(row.key),
        "UpdateExpression": expression,
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        "ExpressionAttributeValues": {f":{name}": value for name, value in values.items()},
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    if row.expected:
        update["ConditionExpression"] = "#rev = :expected"
        update["ExpressionAttributeValues"] = {
            **update["ExpressionAttributeValues"],
            ":expected": {"N": str(row.expected)},
        }
    return update


def _is_ours(rows: Sequence[Row], token: str) -> bool:
    items = batch([(row.table, row.key) for row in rows], attributes=("tok",))
    return any(item.get("tok", {}).get("S") == token for item in items)
