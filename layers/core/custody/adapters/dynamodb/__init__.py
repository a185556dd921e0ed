"""DynamoDB: the ledger, the traces and the signed policies."""

from custody.adapters.dynamodb.builds import DynamoBuilds
from custody.adapters.dynamodb.calls import Pacing, Table, connect
from custody.adapters.dynamodb.ledger import (
    DynamoErasureWork,
    DynamoHeads,
    DynamoIndexWork,
    DynamoLedger,
    DynamoTrust,
    DynamoWork,
)
from custody.adapters.dynamodb.policies import DynamoPolicies
from custody.adapters.dynamodb.traces import DynamoTraces

__all__ = [
    "DynamoBuilds",
    "DynamoErasureWork",
    "DynamoHeads",
    "DynamoIndexWork",
    "DynamoLedger",
    "DynamoPolicies",
    "DynamoTraces",
    "DynamoTrust",
    "DynamoWork",
    "Pacing",
    "Table",
    "connect",
]
