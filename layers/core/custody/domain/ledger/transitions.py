"""What each write of the ledger makes of a head and a version record.

Pure: a stored state and a request give the next state, or an error, or nothing to do. Every ledger
adapter decides by these rules and adds only its own way of writing conditionally, so that no two
adapters can disagree. Each change of a head raises its ``revision`` by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from custody.domain.ledger.access import wanted_acl
from custody.domain.ledger.erasures import Erasure
from custody.domain.model import (
    Acl,
    DocumentKey,
    Envelope,
    Head,
    Inspection,
    KeyState,
    ObjectRef,
    PolicyRef,
    VerificationKey,
    VersionRecord,
    VersionState,
)
from custody.errors import BadRequest, Conflict, IntegrityError, Moved, NotFound


def moved(what: str) -> Moved:
    return Moved(f"The {what} has changed since it was read.")


def expect_revision(head: Head | None, expected: int) -> None:
    if (head.revision if head else 0) != expected:
        raise moved("document")


def existing(head: Head | None, expected: int) -> Head:
    """The head at ``expected``; NotFound where there is none, Moved where it has another one."""
    if head is None:
        raise NotFound("There is no such document.")
    expect_revision(head, expected)
    return head


def record_of(record: VersionRecord | None) -> VersionRecord:
    if record is None:
        raise NotFound("There is no such version.")
    return record


def accepted(
    head: Head | None, draft: VersionRecord, expected_revision: int
) -> tuple[Head, VersionRecord]:
    """Let ``draft`` in as the next version. Ownership is judged before the revision: a document of
    another source stays refused however often it is read again."""
    if head is not None and head.source_id != draft.source_id:
        raise Conflict(
            "The document belongs to another source.",
            code="document-owned-elsewhere",
            field="document_id",
        )
    expect_revision(head, expected_revision)
    version = (head.accepted_version if head else 0) + 1
    record = replace(
        draft, version=version, state=VersionState.PENDING, parts_done=frozenset(), reasons=()
    )
    if head is None:
        head = Head(
            key=draft.key,
            source_id=draft.source_id,
            name=draft.name,
            revision=0,
            version=0,
            accepted_version=0,
            acl=draft.acl,
            state=VersionState.PENDING,
        )
    advanced = replace(
        head,
        revision=head.revision + 1,
        accepted_version=version,
        updated_at=draft.accepted_at or head.updated_at,
    )
    if head.version == 0:
        advanced = replace(
            advanced,
            state=VersionState.PENDING,
            name=draft.name,
            uri=draft.uri,
            title=draft.title,
            acl=draft.acl,
        )
    return advanced, record


def chunked(
    record: VersionRecord,
    *,
    chunks: ObjectRef,
    chunk_count: int,
    parts_total: int,
    parser: str,
    chunker: str,
    title: str | None,
    inspection: Inspection,
) -> VersionRecord | None:
    """None when there is nothing to do. The first parse wins: parts may already be embedded from
    its chunks."""
    if record.state is not VersionState.PENDING or record.chunks is not None:
        return None
    return replace(
        record,
        chunks=chunks,
        chunk_count=chunk_count,
        parts_total=parts_total,
        parser=parser,
        chunker=chunker,
        title=title if title is not None else record.title,
        inspection=inspection,
    )


def check_part(record: VersionRecord, part: int, model_revision: str) -> None:
    """Raises IntegrityError(unknown-part), IntegrityError(model-revision-mismatch)."""
    if not 0 <= part < record.parts_total:
        raise IntegrityError("The version has no such part.", code="unknown-part")
    if record.model_revision not in (None, model_revision):
        raise IntegrityError(
            "Other parts of the version were embedded by another model.",
            code="model-revision-mismatch",
        )


def keeps_nothing(record: VersionRecord) -> bool:
    """Erased, rejected for good or expired: what a step wrote for it all the same is to be taken
    back. The files of a version that became live meanwhile are its evidence, also once it is
    superseded."""
    over = record.state in (VersionState.ERASED, VersionState.REJECTED)
    return over or record.expired_at is not None


def has_a_past(record: VersionRecord) -> bool:
    """It was live once, and is no longer: it belongs in the history, until it expires."""
    return (
        record.state is VersionState.SUPERSEDED
        and record.published_at is not None
        and record.superseded_at is not None
        and record.expired_at is None
    )


def part_done(record: VersionRecord, part: int, model_revision: str) -> VersionRecord | None:
    if record.state is not VersionState.PENDING:
        return None
    check_part(record, part, model_revision)
    if part in record.parts_done:
        return None
    return replace(record, parts_done=record.parts_done | {part}, model_revision=model_revision)


def _with_publication(stored: VersionRecord, record: VersionRecord) -> VersionRecord:
    return replace(
        stored,
        chunk_root=record.chunk_root,
        chunk_count=record.chunk_count,
        statement_id=record.statement_id,
        envelope=record.envelope,
        model_revision=record.model_revision or stored.model_revision,
    )


def _require_statement(record: VersionRecord) -> None:
    if record.envelope is None or not record.statement_id or not record.chunk_root:
        raise IntegrityError(
            "The version has no signed statement and can't become live.", code="statement-missing"
        )


def signed(stored: VersionRecord, record: VersionRecord) -> VersionRecord | None:
    """None when a statement is already there (the first one wins) or the version isn't PENDING."""
    if stored.state is not VersionState.PENDING or stored.statement_id is not None:
        return None
    _require_statement(record)
    return _with_publication(stored, record)


@dataclass(frozen=True, slots=True)
class Flipped:
    """``head`` None: this version may not become live. ``record``: its next state, where that
    changes. ``write_head``: whether ``head`` is new or the one that was read."""

    head: Head | None
    record: VersionRecord | None = None
    write_head: bool = False


def flipped(
    head: Head | None, stored: VersionRecord | None, record: VersionRecord, at: datetime
) -> Flipped:
    """``at``: when the version becomes live. Never before the former one did, whatever the clocks
    of two publishers say."""
    if head is None or stored is None:
        return Flipped(None)
    if stored.version <= head.erased_through:
        return Flipped(None)
    if head.version == stored.version:
        return Flipped(head)
    if stored.state is not VersionState.PENDING:
        return Flipped(None)
    if head.version > stored.version:
        return Flipped(None, replace(stored, state=VersionState.SUPERSEDED))
    _require_statement(record)
    if stored.statement_id not in (None, record.statement_id):
        raise moved("statement")
    since = max(at, head.recorded_at) if head.recorded_at else at
    live = replace(_with_publication(stored, record), state=VersionState.ACTIVE, published_at=since)
    return Flipped(_live_head(head, live), live, write_head=True)


def _live_head(head: Head, live: VersionRecord) -> Head:
    wanted = wanted_acl(head)
    yields = live.version <= head.acl_through and wanted != live.acl
    keeps = live.acl_kept or live.version <= head.acl_through
    return replace(
        head,
        revision=head.revision + 1,
        version=live.version,
        state=VersionState.ACTIVE,
        name=live.name,
        uri=live.uri,
        title=live.title,
        content_sha256=live.content_sha256,
        chunk_root=live.chunk_root,
        chunk_count=live.chunk_count,
        statement_id=live.statement_id,
        envelope=live.envelope,
        acl=live.acl,
        acl_revision=0,
        narrowed_to=wanted if yields else None,
        acl_set=head.acl_set if keeps else None,
        acl_set_at=head.acl_set_at if keeps else None,
        withdrawn=head.withdrawn if yields else None,
        observed_at=live.observed_at,
        valid_from=live.valid_from,
        valid_to=live.valid_to,
        recorded_at=live.published_at or live.accepted_at,
        updated_at=live.published_at or head.updated_at,
    )


def superseded(record: VersionRecord | None, at: datetime | None) -> VersionRecord | None:
    """The former live version's next state, or None where it needs none. ``at``: when its successor
    became live."""
    if record is None or record.state is not VersionState.ACTIVE:
        return None
    return replace(record, state=VersionState.SUPERSEDED, superseded_at=at)


def rejected(
    head: Head | None, record: VersionRecord | None, reasons: Sequence[str]
) -> tuple[Head | None, VersionRecord] | None:
    """(the head where it changes too, the record), or None when there is nothing to reject. The
    head shows the rejection only where nothing is live and nothing newer was accepted."""
    if record is None or record.state is not VersionState.PENDING:
        return None
    after = replace(record, state=VersionState.REJECTED, reasons=tuple(reasons))
    if (
        head is None
        or head.version != 0
        or head.state is not VersionState.PENDING
        or head.accepted_version != record.version
    ):
        return None, after
    return replace(head, state=VersionState.REJECTED, revision=head.revision + 1), after


def narrowed(
    head: Head | None,
    acl: Acl,
    expected_revision: int,
    *,
    at: datetime,
    withdrawn: str | None,
) -> Head:
    """``withdrawn``: why the service itself closes the document; None where somebody gave the ACL,
    which is then the document's own."""
    head = existing(head, expected_revision)
    if head.version == 0:
        raise Conflict("Nothing of the document is live.", code="document-not-live")
    return replace(
        head,
        revision=head.revision + 1,
        narrowed_to=acl,
        acl_through=head.accepted_version,
        acl_set=head.acl_set if withdrawn else acl,
        acl_set_at=head.acl_set_at if withdrawn else at,
        withdrawn=withdrawn,
    )


def flipped_acl(
    head: Head | None,
    stored: VersionRecord | None,
    *,
    acl_revision: int,
    acl: Acl,
    statement_id: str,
    envelope: Envelope,
) -> tuple[Head, VersionRecord] | Head | None:
    """The next pair; the head alone when this very statement is already in force; None when a
    newer version, a newer ACL or an erasure came first."""
    if head is None or stored is None or head.version != stored.version:
        return None
    if head.acl_revision == acl_revision and head.statement_id == statement_id:
        return head
    if acl_revision != head.acl_revision + 1 or head.narrowed_to != acl:
        return None
    return (
        replace(
            head,
            revision=head.revision + 1,
            acl=acl,
            acl_revision=acl_revision,
            narrowed_to=None,
            statement_id=statement_id,
            envelope=envelope,
        ),
        replace(stored, acl=acl, statement_id=statement_id, envelope=envelope),
    )


def tombstoned(head: Head | None, erasure: Erasure, expected_revision: int) -> tuple[Head, Erasure]:
    """The head keeps who owns it and how far the erasure reaches; what described the content goes,
    its name too: a path may tell of whom it is."""
    head = existing(head, expected_revision)
    through = head.accepted_version
    return (
        replace(
            head,
            revision=head.revision + 1,
            version=0,
            state=VersionState.ERASED,
            name="",
            erased_through=through,
            erasure_id=erasure.erasure_id,
            uri=None,
            title=None,
            content_sha256=None,
            chunk_root=None,
            chunk_count=0,
            statement_id=None,
            envelope=None,
            acl_revision=0,
            narrowed_to=None,
            acl_set=None,
            acl_set_at=None,
            withdrawn=None,
            observed_at=None,
            valid_from=None,
            valid_to=None,
            updated_at=erasure.requested_at,
        ),
        replace(
            erasure,
            through_version=through,
            source_id=erasure.source_id or head.source_id,
            name=erasure.name or head.name,
        ),
    )


def stripped(
    head: Head | None, record: VersionRecord | None, key: DocumentKey, at: datetime
) -> VersionRecord | None:
    """``at``: when the erasure was asked for, the end of a version that was live. Only ids, digests, state and times are left. None when nothing is to be done; Conflict where
    no erasure covers the version."""
    if record is None or record.state is VersionState.ERASED:
        return None
    if head is None or record.version > head.erased_through:
        raise Conflict("No erasure covers the version.", code="version-conflict")
    return VersionRecord(
        key=key,
        version=record.version,
        source_id=record.source_id,
        name="",
        state=VersionState.ERASED,
        content_type="",
        content_sha256=record.content_sha256,
        raw=ObjectRef(key="", version_id=record.raw.version_id),
        acl=Acl(()),
        connector=record.connector,
        observed_at=record.observed_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        accepted_at=record.accepted_at,
        chunk_count=record.chunk_count,
        chunk_root=record.chunk_root,
        statement_id=record.statement_id,
        published_at=record.published_at,
        superseded_at=_ended(record, at),
        expired_at=record.expired_at,
        inspection=Inspection(content_hash=record.inspection.content_hash)
        if record.inspection
        else None,
    )


def _ended(record: VersionRecord, at: datetime) -> datetime | None:
    if record.published_at is None or record.superseded_at is not None:
        return record.superseded_at
    return max(at, record.published_at)


def stored_key(stored: VerificationKey | None, wanted: VerificationKey) -> VerificationKey:
    """A revocation is final: whoever stores the key again (a redeployment does) can't undo it."""
    if (
        stored is not None
        and stored.state is KeyState.REVOKED
        and wanted.state is not KeyState.REVOKED
    ):
        raise Conflict("The key has been revoked.", code="key-revoked", field="keyid")
    return wanted


def with_revocations(
    keys: Mapping[str, VerificationKey], revoked: Collection[str]
) -> Mapping[str, VerificationKey]:
    """Whatever state the keys are told to have: what was once revoked is."""
    if not revoked:
        return keys
    return {
        keyid: replace(key, state=KeyState.REVOKED) if keyid in revoked else key
        for keyid, key in keys.items()
    }


def expect_policy(stored: PolicyRef | None, expected: PolicyRef | None) -> None:
    """``expected`` None: whatever is in force."""
    if expected is not None and stored != expected:
        raise moved("policy")


def listing_position(head: Head) -> str:
    """Where a head stands in a listing: by source, then document. ``#`` is in neither id and
    sorts before every character that is."""
    return f"{head.source_id}#{head.key.document_id}"


def version_cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit():
        raise BadRequest("The cursor is not one of ours.", code="invalid-cursor", field="next")
    return int(cursor)
