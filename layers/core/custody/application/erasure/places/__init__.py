"""The places that hold copies of a document: each erases its own and reads back that they are gone.

Which place visits which store, and which store needs none, is told in
``tests/architecture/erasure_of_stores.py``.
"""

from __future__ import annotations

from typing import Protocol

from custody.application.erasure.places.drops import IncomingObjects, RejectedObjects
from custody.application.erasure.places.index import IndexEntries
from custody.application.erasure.places.objects import RawObjects, VersionFolders
from custody.application.erasure.places.records import RecordLedger, VersionRecords
from custody.application.ports import Clock, DropLedger, ObjectStore, WritableIndex
from custody.domain.ledger.erasures import Erasure


class Place(Protocol):
    @property
    def name(self) -> str:
        """As receipts tell it: the place, never the content."""
        ...

    def concerns(self, erasure: Erasure) -> bool:
        """Whether a document like this one can have a copy here."""
        ...

    def erase(self, erasure: Erasure) -> str | None:
        """Idempotent, and nothing above ``through_version`` is touched. Returns what is still to
        be said of a place that was read back as empty. Raises CustodyError unless it was."""
        ...


class PlacesLedger(RecordLedger, DropLedger, Protocol):
    """What the places ask of the ledger."""


def every_place(
    *, ledger: PlacesLedger, objects: ObjectStore, index: WritableIndex, clock: Clock
) -> tuple[Place, ...]:
    """In the order in which they are visited. Records first: a step of the ingestion that is still
    running sees there that it is over and takes back what it wrote; what it wrote before is found
    by the places that follow."""
    return (
        VersionRecords(ledger),
        IndexEntries(index),
        RawObjects(ledger, objects),
        VersionFolders(objects, "evidence"),
        VersionFolders(objects, "vectors"),
        IncomingObjects(ledger, objects, clock),
        RejectedObjects(objects),
    )
