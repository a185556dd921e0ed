"""What both doors share: is this draft new, and how is a new one let in?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from custody.application.ports import ChunkCounts, VersionReads
from custody.domain.index.candidates import Space
from custody.domain.ledger.access import wanted_acl
from custody.domain.model import (
    Acl,
    Head,
    MetadataValue,
    ObjectRef,
    VersionRecord,
    VersionState,
)
from custody.domain.provenance.canonical import digest
from custody.domain.text import media
from custody.domain.timestamps import format_rfc3339

NOWHERE = ObjectRef("", "")


class Admission(StrEnum):
    """NEW: a version was let in. WAITING: the newest version says the same and isn't published
    yet. UNCHANGED: the live version says the same and every chunk of it can be found. MISSING:
    it says the same, but the index has lost some of it."""

    NEW = "NEW"
    WAITING = "WAITING"
    UNCHANGED = "UNCHANGED"
    MISSING = "MISSING"


@dataclass(frozen=True, slots=True)
class Admitted:
    record: VersionRecord
    admission: Admission


def declared_media(content: bytes, *, content_type: str | None, name: str) -> str:
    """``type``, or ``type; charset=name`` where the charset says more than the default. UTF-8 does
    so for HTML only: a page may name another charset in itself. Raises Rejected (empty-document |
    type-not-supported | type-mismatch)."""
    found = media.resolve(content, content_type=content_type, name=name)
    charset = (found.charset or "utf-8").lower()
    if found.charset is None or (charset in {"utf-8", "utf8"} and found.type != media.HTML):
        return found.type
    return f"{found.type}; charset={charset}"


def says(record: VersionRecord, acl: Acl) -> str:
    """Digest of everything whose change makes a new version. When it was observed is not of it."""
    metadata: dict[str, MetadataValue | list[str]] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in record.metadata.items()
    }
    return digest(
        [
            record.content_sha256,
            record.content_type,
            record.title,
            sorted(acl.allow),
            None if record.valid_from is None else format_rfc3339(record.valid_from),
            None if record.valid_to is None else format_rfc3339(record.valid_to),
            metadata,
        ]
    )


def version_that_says(
    ledger: VersionReads, index: ChunkCounts, head: Head | None, draft: VersionRecord
) -> Admitted | None:
    """The version that says the same as ``draft`` already, or None when the draft is news.

    While a newer version is on its way the draft is compared with that one: A, then B, then A
    again must end with A, whatever is live at the moment.
    """
    if head is None:
        return None
    wanted = says(draft, draft.acl)
    if head.accepted_version > max(head.version, head.erased_through):
        newest = ledger.version(head.key, head.accepted_version)
        if newest is not None and newest.state is VersionState.PENDING:
            changed_later = newest.version <= head.acl_through
            acl = wanted_acl(head) if changed_later else newest.acl
            same = says(newest, acl) == wanted
            return Admitted(newest, Admission.WAITING) if same else None
    live = ledger.version(head.key, head.version) if head.version else None
    if live is None or says(live, wanted_acl(head)) != wanted:
        return None
    found = index.count(Space.of(head.key), head.key, head.version)
    return Admitted(live, Admission.UNCHANGED if found == head.chunk_count else Admission.MISSING)
