"""Indices that are built, and those that were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from custody.domain.index.builds import IndexBuild, label_of
from custody.domain.provenance import dsse
from custody.http.schemas.common import Schema, Timestamp
from custody.http.schemas.provenance import DsseEnvelopeReply


class RebuildBody(Schema):
    """``model``: the deployment's own, or the other one that the rebuild function has besides."""

    model: Literal["own", "other"] = "own"


class IndexReply(Schema):
    """``versions`` and ``chunks`` of what was verified; ``read``: of the pass that is under way.
    ``step`` is told while it is being built, ``envelope`` once it is signed."""

    build_id: str
    space: str
    state: str
    step: str | None
    index: str | None
    model: str | None
    model_revision: str | None
    former_revision: str | None
    mapping_version: str | None
    analysis_version: str | None
    versions: int
    chunks: int
    read: int | None
    written: int
    passes: int
    reason: str | None
    snapshot: str | None
    statement_id: str | None
    envelope: DsseEnvelopeReply | None
    requested_by: str
    requested_at: Timestamp
    updated_at: Timestamp | None
    served_at: Timestamp | None
    retire_at: Timestamp | None


class IndicesReply(Schema):
    indices: list[IndexReply]


def index_reply(build: IndexBuild) -> IndexReply:
    envelope = None if build.envelope is None else dsse.encode(build.envelope)
    return IndexReply(
        build_id=build.key.build_id,
        space=label_of(build.space),
        state=build.state.value,
        step=build.step.value if build.is_being_built else None,
        index=build.index,
        model=build.model,
        model_revision=build.model_revision,
        former_revision=build.former_revision,
        mapping_version=build.mapping_version,
        analysis_version=build.analysis_version,
        versions=build.versions,
        chunks=build.chunks,
        read=None if build.current is None else build.current.versions,
        written=build.written,
        passes=build.passes,
        reason=build.reason,
        snapshot=build.snapshot_digest,
        statement_id=build.statement_id,
        envelope=None if envelope is None else DsseEnvelopeReply.model_validate_json(envelope),
        requested_by=build.requested_by,
        requested_at=build.requested_at,
        updated_at=build.updated_at,
        served_at=build.served_at,
        retire_at=build.retire_at,
    )


def indices_reply(builds: Sequence[IndexBuild]) -> IndicesReply:
    return IndicesReply(indices=[index_reply(build) for build in builds])
