"""DynamoDB: the ledger, the traces and the signed policies."""

from custody.adapters.dynamodb.calls import Pacing, connect
from custody.adapters.dynamodb.ledger import DynamoLedger
from custody.adapters.dynamodb.policies import DynamoPolicies
from custody.adapters.dynamodb.traces import DynamoTraces

__all__ = ["DynamoLedger", "DynamoPolicies", "DynamoTraces", "Pacing", "connect"]
