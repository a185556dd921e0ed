"""The open batch of a build: nobody writes its index outside of one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from custody.application.indexing.pace import BuildPace
from custody.application.ports import Builds, Clock
from custody.domain.index import builds
from custody.domain.index.builds import Batch, IndexBuild
from custody.domain.model import DocumentKey


class OutOfTime(Exception):
    """The run has to leave off; another one goes on from the record."""


class Lease:
    """Of one run. ``build`` is the record as this run wrote it last."""

    def __init__(
        self, build: IndexBuild, records: Builds, clock: Clock, pace: BuildPace, *, run: str
    ) -> None:
        self.build = build
        self._records, self._clock, self._pace, self._run = records, clock, pace, run
        began = clock.now()
        self._due, self._last = began + pace.run, began + pace.longest

    @property
    def is_due(self) -> bool:
        """Whether it is time to send the build on to another run."""
        return self._clock.now() >= self._due

    def put(self, build: IndexBuild) -> IndexBuild:
        """Raises Moved where another run, or a command, was there meanwhile."""
        self.build = self._records.put_build(build)
        return self.build

    def open(self, keys: list[DocumentKey]) -> None:
        self._renew(tuple(sorted(key.document_id for key in keys)))

    def hold(self) -> None:
        """Before each write: the batch is ours for long enough, or it is renewed. Raises OutOfTime,
        Moved."""
        batch, now = self.build.batch, self._clock.now()
        if batch is None:
            raise RuntimeError("Nothing may be written: no batch is open.")
        if now >= self._last:
            raise OutOfTime
        if now + self._pace.margin >= batch.until:
            self._renew(batch.documents)

    def _renew(self, documents: tuple[str, ...]) -> None:
        now = self._clock.now()
        batch = Batch(self._run, documents, _until(now, self._pace))
        self.put(builds.opened(self.build, batch, now=now))

    def drop(self) -> None:
        """Leave off: what was put is gone over again by the next run, from the same place."""
        self.put(replace(self.build, batch=None, updated_at=self._clock.now()))


def _until(now: datetime, pace: BuildPace) -> datetime:
    return now + pace.lease
