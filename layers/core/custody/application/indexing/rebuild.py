"""Make one index anew, beside the one that is served, and put it in its place.

The steps are create, copy, verify, sign, switch; the index that was served is then kept for a
while and dropped. The record says which step comes next and how far it got: each may run twice, and
a run that was killed anywhere is taken up by the next delivery of its job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

from custody.application.indexing.belonging import belongings
from custody.application.indexing.copying import Copying, CopyLedger, Target
from custody.application.indexing.lease import Lease, OutOfTime
from custody.application.indexing.pace import BuildPace
from custody.application.indexing.vectors import Vectors
from custody.application.indexing.verifying import Verifying
from custody.application.ports import (
    Builds,
    Clock,
    Embedder,
    HeadScan,
    Identifiers,
    Jobs,
    ObjectStore,
    RebuildableIndex,
    Signer,
)
from custody.domain.index import builds
from custody.domain.index.builds import BuildState, BuildStep, IndexBuild, Pass
from custody.domain.index.candidates import Space
from custody.domain.index.generations import Generation
from custody.domain.jobs import RebuildJob
from custody.domain.model import BuildKey, Head
from custody.domain.provenance import index_statement, snapshot, statement
from custody.errors import IntegrityError, Moved, Unavailable

OWN, OTHER = "own", "other"
MOST_PASSES = 8

_LONGEST_DELAY = 900
"""Seconds that a queue holds a message back, at most."""


class RebuildLedger(CopyLedger, HeadScan, Protocol):
    """What a rebuild asks of the ledger."""


@dataclass(frozen=True, slots=True)
class Models:
    """``own``: the one that all functions of the deployment have. ``other``: one that is here
    besides, for an index of it to be built. Each is loaded when vectors of it are made."""

    own: Embedder
    other: Embedder | None


@dataclass(frozen=True, slots=True)
class Rebuild:
    ledger: RebuildLedger
    records: Builds
    objects: ObjectStore
    index: RebuildableIndex
    signer: Signer
    models: Models
    jobs: Jobs
    clock: Clock
    identifiers: Identifiers
    pace: BuildPace

    def __call__(self, job: RebuildJob) -> None:
        """Goes on for ``pace.run``, then sends the job again. Raises Unavailable(build-busy) while
        another run of the same build is at it."""
        build = self.records.build(job.key)
        if build is None:
            raise IntegrityError("There is no such build.", code="build-missing")
        try:
            match build.state:
                case BuildState.BUILDING:
                    self._go_on(build)
                case BuildState.SERVED:
                    self._send_retiring(build)
                case BuildState.RETIRING:
                    self._retire(build)
                case BuildState.ABANDONED if build.index is not None:
                    self._drop_abandoned(build, build.index)
                case _:
                    return
        except Moved:
            raise Unavailable("The build is being changed by others.", code="build-busy") from None

    # --- the steps --------------------------------------------------------------------------------

    def _go_on(self, build: IndexBuild) -> None:
        run = self.identifiers.new("run")
        lease = Lease(build, self.records, self.clock, self.pace, run=run)
        if build.batch is not None:
            builds.opened(build, replace(build.batch, run=run), now=self.clock.now())  # ours now?
        try:
            while lease.build.state is BuildState.BUILDING:
                over = self._step(lease)  # one at least, however short a run is
                if lease.is_due or not over:
                    self.jobs.send([RebuildJob(build.key)])
                    return
        except OutOfTime:
            lease.drop()
            self.jobs.send([RebuildJob(build.key)])
            return
        self._send_retiring(lease.build)

    def _step(self, lease: Lease) -> bool:
        """False where the step is not over and the time is."""
        match lease.build.step:
            case BuildStep.CREATE:
                self._create(lease)
            case BuildStep.COPY:
                return self._copy(lease)
            case BuildStep.VERIFY:
                return self._verify(lease)
            case BuildStep.SIGN:
                self._sign(lease)
            case BuildStep.SWITCH:
                self._switch(lease)
        return True

    def _create(self, lease: Lease) -> None:
        build, now = lease.build, self.clock.now()
        embedder = self.models.other if build.model == OTHER else self.models.own
        before = self.index.generations(build.space)
        if embedder is None:
            lease.put(builds.abandoned(build, "model-missing", now=now))
            return
        if not before and not self._has_any(build.space):
            lease.put(builds.abandoned(build, "nothing-to-index", now=now))
            return
        self._adopt(build, before)
        made = self.index.create(
            build.space,
            generation=build.key.build_id,
            model_revision=embedder.revision,
            dimensions=embedder.dimensions,
        )
        described = replace(
            build,
            index=made.name,
            model_revision=made.model_revision,
            mapping_version=made.mapping_version,
            analysis_version=made.analysis_version,
            former_revision=next((each.model_revision for each in before if each.served), None),
        )
        lease.put(builds.stepped(described, BuildStep.COPY, now=now))

    def _copy(self, lease: Lease) -> bool:
        target, copying = self._target(lease.build), self.copying()
        for heads, cursor in self._pages(lease):
            for batch in self._batches(heads):
                keys = [head.key for head in batch]
                lease.open(keys)
                written = copying(target, keys, lease)
                after = self.ledger.cursor_after(batch[-1])
                self._close(lease, replace(self._pass(lease), cursor=after), written)
            self._close(lease, replace(self._pass(lease), cursor=cursor, over=cursor is None), 0)
            if lease.is_due:
                break
        if not self._pass(lease).over:
            return False
        lease.put(builds.stepped(lease.build, BuildStep.VERIFY, now=self.clock.now()))
        return True

    def _verify(self, lease: Lease) -> bool:
        target = self._target(lease.build)
        verifying = Verifying(self.index, self.copying())
        for heads, cursor in self._pages(lease):
            current, written = verifying(target, heads, lease, self._pass(lease))
            self._close(lease, replace(current, cursor=cursor, over=cursor is None), written)
            if lease.is_due:
                break
        current = self._pass(lease)
        if not current.over:
            return False
        if current.late and lease.build.passes >= MOST_PASSES:
            raise IntegrityError(
                f"Versions of {current.late} documents are still missing.", code="index-incomplete"
            )
        step = BuildStep.VERIFY if current.late else BuildStep.SIGN
        lease.put(builds.stepped(lease.build, step, now=self.clock.now()))
        return True

    def _sign(self, lease: Lease) -> None:
        build, now, verified = lease.build, self.clock.now(), self._pass(lease)
        digest = snapshot.digest(verified.sum)
        payload = index_statement.build(
            index_statement.IndexStatement(
                index=build.index or "",
                tenant=build.space.tenant,
                space=builds.label_of(build.space),
                build_id=build.key.build_id,
                model_revision=build.model_revision or "",
                mapping_version=build.mapping_version or "",
                analysis_version=build.analysis_version or "",
                digest=digest,
                versions=verified.versions,
                chunks=verified.chunks,
                read_from=verified.began_at,
                signed_at=now,
            )
        )
        signed = replace(
            build,
            statement_id=statement.statement_id(payload),
            envelope=self.signer.sign(statement.PAYLOAD_TYPE, payload),
            snapshot_digest=digest,
            versions=verified.versions,
            chunks=verified.chunks,
        )
        lease.put(builds.stepped(signed, BuildStep.SWITCH, now=now))

    def _switch(self, lease: Lease) -> None:
        """The former one is told to retire after this one is served, and before the record says
        so: whatever is killed in between, a repeat finds it."""
        build = lease.build
        target = self._target(build)
        self._adopt(build, self.index.generations(build.space))
        self.index.serve(target.space, target.name)
        now = self.clock.now()
        for other in self.records.builds(build.key.tenant):
            if (
                other.space == build.space
                and other.key != build.key
                and other.state is BuildState.SERVED
                and other.model_revision == build.model_revision
            ):
                until = now + self.pace.grace
                self.records.put_build(builds.retiring(other, now=now, until=until))
        lease.put(builds.served(build, now=now))

    # --- the index that was served before ---------------------------------------------------------

    def _send_retiring(self, build: IndexBuild) -> None:
        """Of the same space: those that the switch, or a run that was killed after it, left."""
        now = self.clock.now()
        for other in self.records.builds(build.key.tenant):
            if other.space == build.space and other.state is BuildState.RETIRING:
                left = (other.retire_at or now) - now
                self.jobs.send([RebuildJob(other.key)], delay_seconds=held_back(left))

    def _retire(self, build: IndexBuild) -> None:
        now = self.clock.now()
        if build.retire_at is not None and now < build.retire_at:
            left = build.retire_at - now
            self.jobs.send([RebuildJob(build.key)], delay_seconds=held_back(left))
            return
        if build.index is not None:
            found = self.index.generations(build.space)
            alone = not any(each.served and each.name != build.index for each in found)
            if alone and any(each.name == build.index and each.served for each in found):
                raise IntegrityError("No other index of the space is served.", code="index-served")
            self.index.drop(build.space, build.index, served=True)
        self.records.put_build(builds.retired(build, now=now))

    def _drop_abandoned(self, build: IndexBuild, name: str) -> None:
        self.index.drop(build.space, name)
        self.records.put_build(replace(build, index=None, updated_at=self.clock.now()))

    def _adopt(self, build: IndexBuild, found: Sequence[Generation]) -> None:
        """The index that the space's first document made gets a record, so that it can be retired
        like any other."""
        records = self.records.builds(build.key.tenant)
        known = {
            each.index
            for each in records
            if each.space == build.space and each.state in builds.WITH_INDEX
        }
        for each in found:
            if each.served and each.name not in known:
                build_id = builds.id_of_first(build.space, [r.key.build_id for r in records])
                adopted = builds.adopted(
                    BuildKey(build.key.tenant, build_id),
                    build.space,
                    index=each.name,
                    model_revision=each.model_revision,
                    now=self.clock.now(),
                )
                records = [*records, self.records.put_build(adopted)]

    def _has_any(self, space: Space) -> bool:
        """Whether anything belongs in the space. Where nothing does it gets no index: what comes
        first makes one, that is served at once, and an index that is being built isn't."""
        cursor: str | None = None
        while True:
            page = self.ledger.scan_heads(space.tenant, cursor=cursor)
            for head in page.items:
                earlier = not space.history or head.accepted_version > 1
                if earlier and belongings(self.ledger, space, head):
                    return True
            cursor = page.next
            if cursor is None:
                return False

    # --- reading the corpus -----------------------------------------------------------------------

    def _pages(self, lease: Lease) -> Iterator[tuple[Sequence[Head], str | None]]:
        """From where the pass is. Empty pages are passed over."""
        current = self._pass(lease)
        cursor = current.cursor
        while not current.over:
            page = self.ledger.scan_heads(lease.build.space.tenant, cursor=cursor)
            cursor = page.next
            if page.items or cursor is None:
                yield page.items, cursor
            if cursor is None:
                return

    def _batches(self, heads: Sequence[Head]) -> Iterator[list[Head]]:
        batch: list[Head] = []
        chunks = 0
        for head in heads:
            full = len(batch) >= self.pace.documents or chunks + head.chunk_count > self.pace.chunks
            if batch and full:
                yield batch
                batch, chunks = [], 0
            batch.append(head)
            chunks += head.chunk_count
        if batch:
            yield batch

    def _close(self, lease: Lease, after: Pass, written: int) -> None:
        lease.put(builds.closed(lease.build, after, written=written, now=self.clock.now()))

    @staticmethod
    def _pass(lease: Lease) -> Pass:
        if lease.build.current is None:
            raise IntegrityError("The build reads nothing at present.", code="build-missing")
        return lease.build.current

    def _target(self, build: IndexBuild) -> Target:
        if build.index is None or build.model_revision is None:
            raise IntegrityError("The build has no index.", code="build-missing")
        served = [each for each in self.index.generations(build.space) if each.served]
        served.sort(key=lambda each: each.model_revision != build.model_revision)
        name = served[0].name if served else None
        return Target(build.space, build.index, build.model_revision, name)

    def copying(self) -> Copying:
        return Copying(
            self.ledger,
            self.objects,
            self.index,
            Vectors(self.ledger, self.objects, self._embedders),
        )

    def _embedders(self) -> Sequence[Embedder]:
        found = (self.models.own, self.models.other)
        return [embedder for embedder in found if embedder is not None]


def held_back(left: timedelta) -> int:
    """Seconds of delay for a job that is due after ``left``."""
    return max(0, min(_LONGEST_DELAY, math.ceil(left.total_seconds())))
