"""The ledger that decides, in DynamoDB tables, and the parts of it that a function may hold.

Reads are strongly consistent; every write names the revision that it was decided on. Rights are
held by table, so each class stands on exactly the tables that its use cases touch.
"""

from __future__ import annotations

from collections.abc import Callable

from custody.adapters.dynamodb import marks
from custody.adapters.dynamodb.calls import Table
from custody.adapters.dynamodb.documents import DynamoHeadListing, DynamoHeadScan, DynamoHistory
from custody.adapters.dynamodb.drops import DynamoDrops
from custody.adapters.dynamodb.erasures import DynamoErasures, DynamoTombstones
from custody.adapters.dynamodb.ingestion import DynamoAdmissions, DynamoSteps
from custody.adapters.dynamodb.marks import DynamoMarks
from custody.adapters.dynamodb.pages import DynamoPageSecrets
from custody.adapters.dynamodb.publication import DynamoNarrowing, DynamoPublication
from custody.adapters.dynamodb.retention import DynamoRetention
from custody.adapters.dynamodb.sources import DynamoSources
from custody.adapters.dynamodb.trust import DynamoGovernance
from custody.adapters.dynamodb.view import DynamoView


class DynamoTrust(DynamoGovernance, DynamoSources, DynamoPageSecrets):
    """``Trust``."""

    def __init__(self, trust: Table, revocations: Callable[[], Table]) -> None:
        self._trust, self._open_revocations = trust, revocations

    def ping(self) -> None:
        self._ping_trust()


class DynamoHeads(DynamoView, DynamoHeadListing, DynamoNarrowing, DynamoTombstones):
    """``Heads``."""

    def __init__(self, trust: Table, revocations: Callable[[], Table], ledger: Table) -> None:
        self._trust, self._open_revocations, self._ledger = trust, revocations, ledger

    def ping(self) -> None:
        marks.ping(self._ledger)


class DynamoWork(DynamoSteps, DynamoHistory, DynamoRetention, DynamoDrops):
    """``Work``."""

    def __init__(self, work: Table) -> None:
        self._work = work

    def ping(self) -> None:
        marks.ping(self._work)


class DynamoErasureWork(DynamoErasures, DynamoDrops):
    """``ErasureWork``."""

    def __init__(self, ledger: Table, work: Table) -> None:
        self._ledger, self._work = ledger, work


class DynamoIndexWork(DynamoHeadScan, DynamoHistory, DynamoSources):
    """``IndexWork``."""

    def __init__(self, trust: Table, ledger: Table, work: Table) -> None:
        self._trust, self._ledger, self._work = trust, ledger, work


class DynamoLedger(
    DynamoView,
    DynamoGovernance,
    DynamoSources,
    DynamoPageSecrets,
    DynamoHeadListing,
    DynamoHeadScan,
    DynamoHistory,
    DynamoSteps,
    DynamoAdmissions,
    DynamoNarrowing,
    DynamoPublication,
    DynamoTombstones,
    DynamoErasures,
    DynamoRetention,
    DynamoDrops,
    DynamoMarks,
):
    """``Ledger``: the whole. The tables are of one client."""

    def __init__(
        self,
        trust: Table,
        revocations: Callable[[], Table],
        ledger: Table,
        work: Table,
    ) -> None:
        self._trust, self._open_revocations = trust, revocations
        self._ledger, self._work = ledger, work

    def ping(self) -> None:
        self._ping_trust()
        marks.ping(self._ledger)
        marks.ping(self._work)
