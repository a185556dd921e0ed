"""The record of one index that is built, from the request until the index is gone again.

==========  ==================================================================================
BUILDING    being made, in steps: create, copy, verify, sign, switch
SERVED      searches of its model find it
RETIRING    another one took its place; it is written all the same until ``retire_at``
RETIRED     it is gone
ABANDONED   given up before it was served; what was made of it is dropped
==========  ==================================================================================

Copying goes by batches of documents. A batch is *opened* in the record before anything is read of
its documents, and closed after what ended meanwhile was taken back: so whoever erases a document
sees whether a builder may be writing it at this moment. A builder puts nothing once its batch is
past ``until``, and another run of the same build may then take it over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from custody.domain.index.candidates import Space
from custody.domain.index.generations import FIRST
from custody.domain.model import BuildKey, Envelope
from custody.errors import Conflict, Moved


class BuildState(StrEnum):
    BUILDING = "BUILDING"
    SERVED = "SERVED"
    RETIRING = "RETIRING"
    RETIRED = "RETIRED"
    ABANDONED = "ABANDONED"


class BuildStep(StrEnum):
    CREATE = "create"
    COPY = "copy"
    VERIFY = "verify"
    SIGN = "sign"
    SWITCH = "switch"


WITH_INDEX = frozenset({BuildState.BUILDING, BuildState.SERVED, BuildState.RETIRING})


@dataclass(frozen=True, slots=True)
class Batch:
    """What one run of a builder may be writing now. ``documents``: their ids, sorted."""

    run: str
    documents: tuple[str, ...]
    until: datetime


@dataclass(frozen=True, slots=True)
class Pass:
    """One reading of the whole corpus. ``cursor`` None: from the beginning, or over; ``over`` tells
    which. ``sum``: of the corpus snapshot so far. ``late``: versions that had been live when the
    pass began, and were missing."""

    began_at: datetime
    cursor: str | None = None
    over: bool = False
    versions: int = 0
    chunks: int = 0
    late: int = 0
    sum: bytes = b""


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """``model``: the revision that was asked for, or None for that of the builder. ``revision``:
    the record's own, which every write names. ``passes``: of verification, that were begun.
    ``written``: chunks that the builder put. ``reason``: why it was abandoned, a code."""

    key: BuildKey
    space: Space
    revision: int
    state: BuildState
    requested_by: str
    requested_at: datetime
    model: str | None = None
    step: BuildStep = BuildStep.CREATE
    index: str | None = None
    model_revision: str | None = None
    mapping_version: str | None = None
    analysis_version: str | None = None
    former_revision: str | None = None
    current: Pass | None = None
    passes: int = 0
    written: int = 0
    batch: Batch | None = None
    statement_id: str | None = None
    envelope: Envelope | None = None
    snapshot_digest: str | None = None
    versions: int = 0
    chunks: int = 0
    reason: str | None = None
    retire_at: datetime | None = None
    served_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def is_being_built(self) -> bool:
        return self.state is BuildState.BUILDING

    def names(self, document_id: str, *, now: datetime) -> bool:
        """Whether a builder may be writing the document at this moment."""
        return (
            self.batch is not None
            and now < self.batch.until
            and document_id in self.batch.documents
        )


def building(build: IndexBuild | None) -> IndexBuild:
    """Raises Moved where it is not, or no longer, being built."""
    if build is None or build.state is not BuildState.BUILDING:
        raise Moved("The index is no longer being built.")
    return build


def opened(build: IndexBuild, batch: Batch, *, now: datetime) -> IndexBuild:
    """Raises Moved while another run has a batch open."""
    held = building(build).batch
    if held is not None and held.run != batch.run and now < held.until:
        raise Moved("Another run is building this index.")
    return replace(build, batch=batch, updated_at=now)


def closed(build: IndexBuild, after: Pass, *, written: int, now: datetime) -> IndexBuild:
    return replace(
        building(build),
        batch=None,
        current=after,
        written=build.written + written,
        updated_at=now,
    )


def stepped(build: IndexBuild, step: BuildStep, *, now: datetime) -> IndexBuild:
    """Copying and verifying begin with a new pass."""
    reads = step in (BuildStep.COPY, BuildStep.VERIFY)
    return replace(
        building(build),
        step=step,
        batch=None,
        current=Pass(now) if reads else build.current,
        passes=build.passes + (step is BuildStep.VERIFY),
        updated_at=now,
    )


def served(build: IndexBuild, *, now: datetime) -> IndexBuild:
    if build.state is BuildState.SERVED:
        return build
    return replace(
        building(build), state=BuildState.SERVED, current=None, served_at=now, updated_at=now
    )


def retiring(build: IndexBuild, *, now: datetime, until: datetime) -> IndexBuild:
    """Raises Conflict(index-in-use) for one that is not served."""
    if build.state in (BuildState.RETIRING, BuildState.RETIRED):
        return build
    if build.state is not BuildState.SERVED:
        raise Conflict("The index is not served.", code="index-in-use")
    return replace(build, state=BuildState.RETIRING, retire_at=until, updated_at=now)


def retired(build: IndexBuild, *, now: datetime) -> IndexBuild:
    return replace(build, state=BuildState.RETIRED, updated_at=now)


def abandoned(build: IndexBuild, reason: str, *, now: datetime) -> IndexBuild:
    """Its batch stays: whoever opened it may be writing until it is over. Raises
    Conflict(index-in-use) once it may be served."""
    if build.state is BuildState.ABANDONED:
        return build
    if build.step is BuildStep.SWITCH:
        raise Conflict("The index is being put in its place.", code="index-in-use")
    return replace(
        building(build),
        state=BuildState.ABANDONED,
        current=None,
        reason=reason,
        updated_at=now,
    )


def label_of(space: Space) -> str:
    """Which of a tenant's spaces it is. In lower case: it becomes part of an index's name."""
    if space.source_id is None:
        return "history" if space.history else "live"
    return f"source-{hashlib.sha256(space.source_id.encode()).hexdigest()[:8]}"


def next_id(space: Space, taken: Sequence[str]) -> str:
    """Build ids count up in each space: ``<label>-<number>``."""
    label = label_of(space)
    numbers = [name.rpartition("-")[2] for name in taken if name.rpartition("-")[0] == label]
    return f"{label}-{max((int(number) for number in numbers), default=0) + 1}"


def id_of_first(space: Space, taken: Sequence[str]) -> str:
    """Of the index that the space's first document made."""
    first = f"{label_of(space)}-{FIRST}"
    return next_id(space, taken) if first in taken else first


def adopted(
    key: BuildKey, space: Space, *, index: str, model_revision: str, now: datetime
) -> IndexBuild:
    """A record of an index that was served before any was built."""
    return IndexBuild(
        key=key,
        space=space,
        revision=0,
        state=BuildState.SERVED,
        requested_by="",
        requested_at=now,
        index=index,
        model_revision=model_revision,
        updated_at=now,
    )
