"""What the API does with documents: publish one and wait, list, show, and prove."""

from __future__ import annotations

from dataclasses import dataclass, replace

from custody.application.callers import (
    Seen,
    find,
    listing,
    no_such_document,
    require,
    see,
    view_for,
)
from custody.application.ingestion.accept_document import Accept, DocumentRequest
from custody.application.ingestion.admission import Admission, space_of
from custody.application.ports import Cursors, EvidenceIndex, Ledger, Page
from custody.application.waiting import Waiting
from custody.domain.model import (
    Envelope,
    Head,
    Principal,
    Scope,
    SourceKey,
    VersionRecord,
    VersionState,
)
from custody.errors import NotFound, Unprocessable

_HISTORY = 100


@dataclass(frozen=True, slots=True)
class Published:
    """``unchanged``: nothing was written. A record that is still PENDING will be published."""

    record: VersionRecord
    unchanged: bool


@dataclass(frozen=True, slots=True)
class Shown:
    head: Head
    versions: tuple[VersionRecord, ...]
    more_versions: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    document_id: str
    version: int
    state: VersionState
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Documents:
    accept: Accept
    ledger: Ledger
    index: EvidenceIndex
    waiting: Waiting
    cursors: Cursors

    def put(self, principal: Principal, request: DocumentRequest) -> Published:
        """Raises Unprocessable with the first reason as its code when the document was rejected,
        NotFound when it was erased meanwhile; everything that ``Accept.from_api`` raises."""
        admitted = self.accept.from_api(principal, request)
        record = admitted.record
        if admitted.admission is Admission.UNCHANGED:
            return Published(record, unchanged=True)
        if admitted.admission is Admission.MISSING:
            return Published(self._repaired(record), unchanged=False)
        done = self.waiting.until(lambda: self._ended(record))
        if done is None:
            return Published(record, unchanged=False)
        if done.state is VersionState.REJECTED:
            reasons = done.reasons or ("rejected",)
            raise Unprocessable(
                f"The document was rejected: {', '.join(reasons)}.", code=reasons[0]
            )
        if done.state is VersionState.ERASED:
            raise no_such_document()
        return Published(done, unchanged=False)

    def _ended(self, record: VersionRecord) -> VersionRecord | None:
        now = self.ledger.version(record.key, record.version)
        return now if now is not None and now.state is not VersionState.PENDING else None

    def _repaired(self, record: VersionRecord) -> VersionRecord:
        """Live, but not wholly searchable. Told as PENDING when the time is over before it is."""

        def look() -> VersionRecord | None:
            found = self.index.count(space_of(record.key), record.key, record.version)
            return record if found == record.chunk_count else None

        return self.waiting.until(look) or _pending(record)

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
            source = read.sources.get(SourceKey(key.tenant, head.source_id))
            if see(principal, head, source, read.control.trust_domains) is not None:
                visible.append(head)
        return Page(tuple(visible), self.cursors.seal(page.next, listing=listed))

    def show(self, principal: Principal, document_id: str) -> Shown:
        """Its history goes to the source's writers, governors and auditors; a reader sees what is
        live."""
        seen = find(self.ledger, principal, document_id)
        if not seen.inside:
            live = self.ledger.version(seen.head.key, seen.head.version)
            return Shown(seen.head, () if live is None else (live,), more_versions=False)
        page = self.ledger.versions(seen.head.key, limit=_HISTORY)
        return Shown(seen.head, page.items, more_versions=page.next is not None)

    def provenance(self, principal: Principal, document_id: str, version: int | None) -> Provenance:
        """The signed statement of the live version, or of an earlier one for those who see the
        history. Raises NotFound."""
        seen = find(self.ledger, principal, document_id)
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
        return Provenance(seen.head.key.document_id, version, record.state, envelope)


def _pending(record: VersionRecord) -> VersionRecord:
    return replace(record, state=VersionState.PENDING)
