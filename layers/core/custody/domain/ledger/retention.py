"""How long what was superseded is kept, and the two steps by which it goes.

First the record is marked: it is told as expired from then on, whatever is still there. Once its
files and index entries are gone the record lets go of what it pinned, so a record names files
exactly as long as there may be any. Only a superseded version takes either step, and none ever
comes back from there: it can only be erased.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from custody.domain.model import ObjectRef, VersionRecord, VersionState


def kept_since(record: VersionRecord) -> datetime | None:
    """When the version was superseded; one that was overtaken before it was ever live counts from
    when it was let in. None: it is not superseded, or nothing of it is left."""
    if record.state is not VersionState.SUPERSEDED or not record.raw.key:
        return None
    return record.superseded_at or record.accepted_at


def expired(record: VersionRecord, *, through: datetime, at: datetime) -> VersionRecord | None:
    """Marked at ``at``, if it was superseded up to ``through``. What described the content goes;
    ids, digests, rights and times stay, and so does the statement. None: nothing is to be done."""
    since = kept_since(record)
    if since is None or since > through or record.expired_at is not None:
        return None
    return replace(record, expired_at=at, title=None, metadata={})


def is_leaving(record: VersionRecord) -> bool:
    """Marked, and not yet read back as gone."""
    return record.expired_at is not None and kept_since(record) is not None


def is_due(record: VersionRecord, through: datetime) -> bool:
    """Superseded up to ``through``, or leaving: what was begun is finished, however long versions
    are to be kept by now."""
    since = kept_since(record)
    return since is not None and (since <= through or record.expired_at is not None)


def let_go(record: VersionRecord) -> VersionRecord | None:
    """For whoever has read back that nothing of it is left. None: nothing is to be done."""
    if not is_leaving(record):
        return None
    return replace(
        record, raw=ObjectRef(key="", version_id=record.raw.version_id), sidecar=None, chunks=None
    )
