"""The ledger that decides: one DynamoDB table."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from custody.adapters.dynamodb.calls import Pacing, Table
from custody.adapters.dynamodb.documents import DynamoDocuments
from custody.adapters.dynamodb.drops import DynamoDrops
from custody.adapters.dynamodb.erasures import DynamoErasures
from custody.adapters.dynamodb.ingestion import DynamoIngestion
from custody.adapters.dynamodb.pages import DynamoPageSecrets
from custody.adapters.dynamodb.publication import DynamoPublication
from custody.adapters.dynamodb.sources import DynamoSources
from custody.adapters.dynamodb.trust import DynamoTrust
from custody.adapters.dynamodb.view import DynamoView

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoLedger(
    DynamoView,
    DynamoTrust,
    DynamoSources,
    DynamoDocuments,
    DynamoIngestion,
    DynamoPublication,
    DynamoErasures,
    DynamoDrops,
    DynamoPageSecrets,
):
    """Reads are strongly consistent; every write names the revision that it was decided on.

    ``new_token`` makes the mark by which a write is known as our own when its reply was lost: at
    most 36 characters, beginning with 8 hexadecimal ones.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        table: str,
        *,
        pacing: Pacing | None = None,
        new_token: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        super().__init__(
            Table(client, table, code="ledger-unavailable", pacing=pacing, new_token=new_token)
        )
