"""Documents as a caller may see them: listed, shown, and with the statement that proves them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from custody.application.callers import (
    Seen,
    Sight,
    listing,
    no_such_document,
    require,
    view_for,
)
from custody.application.ports import Cursors, HeadListing, LedgerReads, Page, VersionHistory
from custody.domain.model import (
    Acl,
    Envelope,
    Head,
    Principal,
    Scope,
    SourceKey,
    VersionRecord,
    VersionState,
)
from custody.errors import NotFound

_HISTORY = 100


@dataclass(frozen=True, slots=True)
class Shown:
    """``withheld``: as ``Seen``."""

    head: Head
    withheld: str | None
    versions: tuple[VersionRecord, ...]
    more_versions: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    tenant: str
    document_id: str
    version: int
    state: VersionState
    envelope: Envelope


class DocumentsLedger(LedgerReads, HeadListing, VersionHistory, Protocol):
    """What showing documents asks of the ledger."""


@dataclass(frozen=True, slots=True)
class Documents:
    ledger: DocumentsLedger
    cursors: Cursors
    sight: Sight

    def list_documents(
        self,
        principal: Principal,
        *,
        source_id: str | None,
        state: VersionState | None,
        name: str | None,
        limit: int,
        cursor: str | None,
    ) -> Page[Head]:
        """Those of the caller's own tenant that the caller may see. A page may hold fewer than
        ``limit``, even none, while ``next`` says that more may follow. Raises
        BadRequest(invalid-cursor) for a ``cursor`` of another caller or filter, or of nobody's."""
        require(principal, Scope.READ)
        view_for(self.ledger, principal)
        in_state = None if state is None else state.value
        listed = listing(principal, "documents", source_id, in_state, name)
        page = self.ledger.list_heads(
            principal.tenant,
            source_id=source_id,
            state=in_state,
            name=name,
            limit=limit,
            cursor=self.cursors.open(cursor, listing=listed),
        )
        owners = tuple({SourceKey(principal.tenant, head.source_id) for head in page.items})
        keys = tuple(head.key for head in page.items)
        # The listing may lag behind: what is shown is what the ledger says now.
        read = view_for(self.ledger, principal, keys, owners)
        visible = []
        for key in keys:
            head = read.heads.get(key)
            if head is None or (state is not None and head.state is not state):
                continue
            seen = self.sight.see(principal, head, read)
            if seen is not None:
                visible.append(_told(seen, principal))
        return Page(tuple(visible), self.cursors.seal(page.next, listing=listed))

    def show(self, principal: Principal, document_id: str) -> Shown:
        """Its history goes to the source's writers, governors and auditors; a reader sees what is
        live. Raises Forbidden(scope-missing), NotFound."""
        require(principal, Scope.READ)
        seen = self.sight.find(self.ledger, principal, document_id)
        head = _told(seen, principal)
        if not seen.inside:
            live = self.ledger.version(head.key, head.version)
            versions = () if live is None else (replace(live, connector=_kind(live.connector)),)
            return Shown(head, None, versions, more_versions=False)
        page = self.ledger.versions(head.key, limit=_HISTORY)
        return Shown(head, seen.withheld, page.items, more_versions=page.next is not None)

    def provenance(self, principal: Principal, document_id: str, version: int | None) -> Provenance:
        """The signed statement of the live version, or of an earlier one for those who see the
        history. Raises Forbidden(scope-missing), NotFound."""
        require(principal, Scope.READ)
        seen = self.sight.find(self.ledger, principal, document_id)
        wanted = seen.head.version if version is None else version
        if wanted == 0 or not (seen.inside or wanted == seen.head.version):
            raise no_such_document()
        return self._provenance(seen, wanted)

    def _provenance(self, seen: Seen, version: int) -> Provenance:
        record = self.ledger.version(seen.head.key, version)
        envelope = seen.head.envelope if version == seen.head.version else None
        if record is not None and envelope is None:
            envelope = record.envelope
        if record is None or envelope is None:
            raise NotFound("There is no signed statement of this version.")
        return Provenance(*seen.head.key, version, record.state, envelope)


def _told(seen: Seen, principal: Principal) -> Head:
    """A reader is told of an ACL what opens the document to them, not to whom else it is open."""
    if seen.inside:
        return seen.head
    held = tuple(term for term in seen.head.acl.allow if term in principal.terms)
    return replace(seen.head, acl=Acl(held), narrowed_to=None)


def _kind(connector: str) -> str:
    """Without the name of who wrote."""
    return connector.partition(":")[0]
