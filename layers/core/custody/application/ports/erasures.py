"""Erasures in the ledger: the tombstone that hides, and the record of what was then proven."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from custody.domain.ledger.erasures import Erasure
from custody.domain.model import DocumentKey, Head


class ErasureReads(Protocol):
    def erasure(self, tenant: str, erasure_id: str) -> Erasure | None: ...


class Tombstones(ErasureReads, Protocol):
    def tombstone(self, erasure: Erasure, *, expected_revision: int) -> Head:
        """One transaction: the head ERASED through its accepted_version, the erasure stored.
        Raises Moved, NotFound."""
        ...


class ErasureLedger(ErasureReads, Protocol):
    """What carries an erasure on."""

    def put_erasure(self, erasure: Erasure) -> None:
        """A COMPLETE one is never put back by a slower delivery."""
        ...

    def mark_erased(self, key: DocumentKey, version: int, *, at: datetime) -> None:
        """``at``: when the erasure was asked for. Strip a version record of everything but ids, digests, state and times."""
        ...
