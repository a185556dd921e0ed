"""Let go of what was superseded longer ago than it is to be kept.

The record is marked first, conditionally: whatever changed since it was listed is seen there, and
from then on nobody takes the version's files for evidence that is only missing. Then its files go,
then its index entries, and the record lets go of them last, so that whatever breaks off in between
is found and finished by the next run. Nothing but a superseded version can be marked, and none ever
becomes live again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from custody.application.erasure.places.objects import erase_folder, erase_raw
from custody.application.failure import Failure, collecting
from custody.application.ports import Clock, ObjectStore, Retention, WritableIndex
from custody.domain.index.candidates import Space
from custody.domain.ledger import retention
from custody.domain.model import VersionRecord
from custody.errors import Unavailable

LONGEST_RUN = timedelta(minutes=4)
"""Below the function's time-out. What is left then is the next run's."""


_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Expired:
    """``unfinished``: the run's time was over before it came to the end of what is due."""

    versions: int
    failures: tuple[Failure[VersionRecord], ...]
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class ExpireSuperseded:
    """``keep``: how long a version is kept from when it was superseded on; None keeps it for ever."""

    ledger: Retention
    objects: ObjectStore
    index: WritableIndex
    clock: Clock
    keep: timedelta | None

    def __call__(self) -> Expired:
        """Every version that is due is tried, whatever became of another one; where all are kept,
        only what an earlier run began. Idempotent, also when two run side by side."""
        began = self.clock.now()
        through = _LONG_AGO if self.keep is None else began - self.keep
        failures: list[Failure[VersionRecord]] = []
        done = 0
        for record in self.ledger.superseded_through(through):
            if self.clock.now() - began > LONGEST_RUN:
                return Expired(done, tuple(failures), unfinished=True)
            with collecting(failures, record):
                done += self._expire(record, through, began)
        return Expired(done, tuple(failures))

    def _expire(self, listed: VersionRecord, through: datetime, at: datetime) -> bool:
        """False where it is no longer due: it was erased, or another run was here."""
        key, version = listed.key, listed.version
        record = self.ledger.expire(key, version, through=through, at=at)
        if not retention.is_leaving(record):
            return False
        erase_raw(self.objects, key, version)
        for kind in ("evidence", "vectors"):
            erase_folder(self.objects, kind, key, version)
        self._take_out(record)
        self.ledger.let_go(key, version)
        return True

    def _take_out(self, record: VersionRecord) -> None:
        """Of the history, and of the live entries too: its move from there may still be waiting."""
        spaces = (Space.of(record.key), Space.history_of(record.key))
        for space in spaces:
            self.index.delete(space, record.key, version=record.version)
        self.index.refresh(spaces)
        if any(self.index.left(space, record.key, record.version) for space in spaces):
            raise Unavailable("An expired version can still be found.", code="index-unavailable")
