"""Change who may read a live document, without a new version of its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from custody.application.callers import Seen, Sight, require
from custody.application.ingestion.waiting import Waiting
from custody.application.ports import Clock, HeadReads, Jobs, LedgerReads, Narrowing
from custody.application.races import again_when_moved
from custody.domain.intake import validation
from custody.domain.jobs import PublishJob
from custody.domain.ledger import sources
from custody.domain.ledger.access import wanted_acl
from custody.domain.model import Acl, Head, Principal, Scope
from custody.errors import Conflict, Forbidden, NotFound, PreconditionFailed


@dataclass(frozen=True, slots=True)
class AclRequest:
    document_id: str
    allow: tuple[str, ...]
    if_match: int | None = None


@dataclass(frozen=True, slots=True)
class AclChange:
    """``in_force`` False: what it takes away is taken away already, what it adds is on its way."""

    head: Head
    acl: Acl
    in_force: bool


class ChangeAclLedger(LedgerReads, HeadReads, Narrowing, Protocol):
    """What a change of an ACL asks of the ledger."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """``signed``: in force, and nothing waits to be published."""

    head: Head
    acl: Acl
    signed: bool


@dataclass(frozen=True, slots=True)
class ChangeAcl:
    ledger: ChangeAclLedger
    jobs: Jobs
    clock: Clock
    waiting: Waiting
    sight: Sight

    def __call__(self, principal: Principal, request: AclRequest) -> AclChange:
        """Narrowing holds at the next read, widening once this returns with ``in_force``."""
        require(principal, Scope.WRITE, Scope.GOVERN)
        wanted = again_when_moved(
            lambda: self._store(principal, request),
            lost="The document is being changed by others; try again.",
        )
        head, acl = wanted.head, wanted.acl
        if wanted.signed:
            return AclChange(head, acl, in_force=True)
        self.jobs.send([PublishJob(head.key, head.version, head.acl_revision + 1)])
        if set(acl.allow) <= set(head.acl.allow):
            # Nothing is added, and what is taken away is refused from now on.
            return AclChange(head, acl, in_force=True)
        return self._wait(head, acl)

    def _store(self, principal: Principal, request: AclRequest) -> _Wanted:
        seen = self.sight.find(self.ledger, principal, request.document_id)
        acl = _judge(principal, seen, request)
        head = seen.head
        if head.version == 0:
            raise Conflict("Nothing of the document is live.", code="document-not-live")
        if head.withdrawn is not None:
            raise Conflict(
                f"The document is closed ({head.withdrawn}) until what it came with is mended.",
                code="document-withdrawn",
            )
        if _is_settled(head, acl):
            return _Wanted(head, acl, signed=True)
        if head.narrowed_to != acl or head.accepted_version > head.acl_through:
            head = self.ledger.narrow(
                head.key,
                acl,
                expected_revision=head.revision,
                at=self.clock.now(),
                by=principal.subject,
            )
        return _Wanted(head, acl, signed=False)

    def _wait(self, head: Head, acl: Acl) -> AclChange:
        def look() -> Head | None:
            now = self.ledger.head(head.key)
            if now is None or now.version == 0:
                raise NotFound("There is no such document.")
            return now if now.narrowed_to is None else None

        settled = self.waiting.until(look)
        if settled is None:
            return AclChange(head, acl, in_force=False)
        return AclChange(settled, settled.acl, in_force=settled.acl == acl)


def _is_settled(head: Head, acl: Acl) -> bool:
    """Signed, in force, and nothing is on its way that would replace it."""
    return (
        head.narrowed_to is None
        and wanted_acl(head) == acl
        and head.accepted_version in (head.version, head.acl_through)
    )


def _judge(principal: Principal, seen: Seen, request: AclRequest) -> Acl:
    tenant = seen.head.key.tenant
    writes = seen.source is not None and sources.is_writer(principal, seen.source)
    if tenant != principal.tenant or not (writes or principal.may(Scope.GOVERN)):
        raise Forbidden("The caller is no writer of this source.", code="not-a-writer")
    if not validation.still_is(request.if_match, seen.head.revision):
        raise PreconditionFailed("The document has changed since it was read.")
    if seen.source is None:
        raise Conflict("The document's source is not registered.", code="source-not-found")
    acl = validation.acl(request.allow, tenant=tenant, field="allow")
    return sources.check_acl(seen.source, acl, field="allow")
