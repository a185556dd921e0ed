"""What became of dropped files."""

from __future__ import annotations

from collections.abc import Sequence

from custody.domain.ledger.drops import Drop
from custody.http.schemas.common import Path, Schema, Timestamp


class DropsQuery(Schema):
    name: Path


class DropReply(Schema):
    source_id: str
    name: str
    document_id: str
    state: str
    version: int
    reasons: list[str]
    object_version: str | None
    updated_at: Timestamp | None


class DropsReply(Schema):
    drops: list[DropReply]


def drops_reply(drops: Sequence[Drop]) -> DropsReply:
    return DropsReply(drops=[_drop(drop) for drop in drops])


def _drop(drop: Drop) -> DropReply:
    return DropReply(
        source_id=drop.source.source_id,
        name=drop.name,
        document_id=drop.document.document_id,
        state=drop.state.value,
        version=drop.version,
        reasons=list(drop.reasons),
        object_version=drop.object.version_id if drop.object else None,
        updated_at=drop.updated_at,
    )
