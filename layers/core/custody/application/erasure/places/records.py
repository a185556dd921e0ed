"""The version records of the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from custody.application.ports import ErasureLedger, VersionReads
from custody.domain.ledger.erasures import Erasure
from custody.domain.model import VersionState
from custody.errors import Unavailable


class RecordLedger(VersionReads, ErasureLedger, Protocol):
    """Where records are stripped and read back."""


@dataclass(frozen=True, slots=True)
class VersionRecords:
    name: ClassVar[str] = "ledger/versions"
    ledger: RecordLedger

    def concerns(self, _: Erasure) -> bool:
        return True

    def erase(self, erasure: Erasure) -> str | None:
        for version in range(1, erasure.through_version + 1):
            self.ledger.mark_erased(erasure.key, version, at=erasure.requested_at)
            record = self.ledger.version(erasure.key, version)
            if record is not None and record.state is not VersionState.ERASED:
                raise Unavailable("A version record is left.", code="ledger-unavailable")
        return "Ids, digests, states and times stay."
