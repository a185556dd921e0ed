"""Who could have been shown a document at a time."""

from __future__ import annotations

from custody.application.reading.access_history import PastAccess
from custody.domain.ledger.sources import SourceChange
from custody.http.schemas.common import AclBody, Schema, Timestamp, acl_body


class AccessQuery(Schema):
    at: Timestamp | None = None


class PastSourceReply(Schema):
    """``max_acl``: nobody outside it could be shown anything of the source. ``since``: when the
    source was last changed before."""

    source_id: str
    state: str
    trust_domain: str
    max_acl: AclBody | None
    since: Timestamp


class PastAccessReply(Schema):
    """``version`` null: nothing was live. ``acl`` and ``narrowed_to``, where there is one, both had
    to permit a reader. ``until`` null: it holds still."""

    document_id: str
    at: Timestamp
    version: int | None
    acl: AclBody | None
    narrowed_to: AclBody | None
    acl_revision: int | None
    statement_id: str | None
    changed_by: str | None
    since: Timestamp | None
    until: Timestamp | None
    source: PastSourceReply | None


def past_access_reply(found: PastAccess) -> PastAccessReply:
    held = found.held
    revision = None if held is None else held.revision
    live = revision if revision is not None and revision.version else None
    return PastAccessReply(
        document_id=found.document_id,
        at=found.at,
        version=live.version if live else None,
        acl=acl_body(live.acl if live else None),
        narrowed_to=acl_body(live.narrowed_to if live else None),
        acl_revision=live.acl_revision if live else None,
        statement_id=live.statement_id if live else None,
        changed_by=revision.by if revision else None,
        since=revision.since if revision else None,
        until=held.until if held else None,
        source=_source(found.source_id, found.source) if found.source else None,
    )


def _source(source_id: str, change: SourceChange) -> PastSourceReply:
    return PastSourceReply(
        source_id=source_id,
        state=change.state.value,
        trust_domain=change.trust_domain,
        max_acl=acl_body(change.max_acl),
        since=change.at,
    )
