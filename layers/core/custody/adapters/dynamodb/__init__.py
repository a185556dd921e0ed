"""DynamoDB: the ledger, the traces and the signed policies."""

from custody.adapters.dynamodb.calls import Pacing, Table, connect
from custody.adapters.dynamodb.ledger import (
    DynamoErasureWork,
    DynamoHeads,
    DynamoLedger,
    DynamoTrust,
    DynamoWork,
)
from custody.adapters.dynamodb.policies import DynamoPolicies
from custody.adapters.dynamodb.traces import DynamoTraces

__all__ = [
    "DynamoErasureWork",
    "DynamoHeads",
    "DynamoLedger",
    "DynamoPolicies",
    "DynamoTraces",
    "DynamoTrust",
    "DynamoWork",
    "Pacing",
    "Table",
    "connect",
]
