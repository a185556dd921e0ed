"""What every part of the ledger stands on."""

from __future__ import annotations

from custody.adapters.dynamodb.calls import Table


class OnTable:
    def __init__(self, table: Table) -> None:
        self._table = table
