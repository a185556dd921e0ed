"""Register sources: who may publish as them, and how wide their documents may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from custody.application.callers import listing, require, trust_view_for
from custody.application.ports import Clock, Cursors, Page, SourceLedger, TrustReads
from custody.application.races import again_when_moved
from custody.domain.intake import validation
from custody.domain.ledger import sources
from custody.domain.model import (
    Acl,
    Principal,
    Scope,
    SidecarMode,
    Source,
    SourceKey,
    SourceState,
)
from custody.errors import Conflict, NotFound, PreconditionFailed, Unprocessable

_MAX_LABEL_CHARACTERS = 256
_MAX_REASON_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """``None`` of an ACL means that there is none. ``if_match``: the revision that the caller
    read; 0 means that the source must not exist yet."""

    source_id: str
    trust_domain: str
    writers: tuple[str, ...]
    default_acl: tuple[str, ...] | None = None
    max_acl: tuple[str, ...] | None = None
    sidecar: SidecarMode = SidecarMode.OPTIONAL
    isolation: str = "shared"
    mirror_deletes: bool = False
    classification: str | None = None
    licence: str | None = None
    legal_basis: str | None = None
    retention_class: str | None = None
    if_match: int | None = None


@dataclass(frozen=True, slots=True)
class SourceStateRequest:
    source_id: str
    reason: str | None = None
    if_match: int | None = None


@dataclass(frozen=True, slots=True)
class PutSource:
    source: Source
    created: bool


class SourceRegistryLedger(TrustReads, SourceLedger, Protocol):
    """What the registry asks of the ledger."""


@dataclass(frozen=True, slots=True)
class SourceRegistry:
    ledger: SourceRegistryLedger
    clock: Clock
    cursors: Cursors

    def put(self, principal: Principal, request: SourceRequest) -> PutSource:
        """Create or replace. State, watermark and creation time stay what they were: replacing a
        quarantined source does not release it."""
        require(principal, Scope.GOVERN)
        wanted = _source(principal.tenant, request)
        return again_when_moved(
            lambda: self._put(principal, wanted, request.if_match),
            lost="The source is being changed by others; try again.",
        )

    def _put(self, principal: Principal, wanted: Source, if_match: int | None) -> PutSource:
        read = trust_view_for(self.ledger, principal, (wanted.key,))
        stored = read.sources.get(wanted.key)
        revision = stored.revision if stored else 0
        if not validation.still_is(if_match, revision):
            raise PreconditionFailed("The source has changed since it was read.")
        now = self.clock.now()
        draft = replace(wanted, created_at=now, updated_at=now)
        if stored is not None:
            draft = replace(
                draft,
                state=stored.state,
                erased_through=stored.erased_through,
                created_at=stored.created_at,
            )
        source = self.ledger.put_source(draft, expected_revision=revision, by=principal.subject)
        return PutSource(source, created=stored is None)

    def quarantine(self, principal: Principal, request: SourceStateRequest) -> Source:
        """At the next read nothing of the source is served. Raises Conflict(source-retired)."""
        require(principal, Scope.GOVERN)
        validation.printable(request.reason or "", field="reason", limit=_MAX_REASON_CHARACTERS)
        return self._set_state(principal, request, SourceState.QUARANTINED)

    def release(self, principal: Principal, request: SourceStateRequest) -> Source:
        """Raises Conflict(source-retired): a source that was given up does not come back."""
        return self._set_state(principal, request, SourceState.ACTIVE)

    def _set_state(
        self, principal: Principal, request: SourceStateRequest, state: SourceState
    ) -> Source:
        require(principal, Scope.GOVERN)
        key = SourceKey(principal.tenant, validation.source_id(request.source_id))

        def change() -> Source:
            stored = trust_view_for(self.ledger, principal, (key,)).sources.get(key)
            if stored is None:
                raise NotFound("There is no such source.", code="source-not-found")
            if not validation.still_is(request.if_match, stored.revision):
                raise PreconditionFailed("The source has changed since it was read.")
            if stored.state is state:
                return stored
            if stored.state is SourceState.RETIRED:
                raise Conflict("The source is retired.", code="source-retired")
            return self.ledger.put_source(
                replace(stored, state=state, updated_at=self.clock.now()),
                expected_revision=stored.revision,
                by=principal.subject,
                reason=request.reason,
            )

        return again_when_moved(change, lost="The source is being changed by others; try again.")

    def list_sources(self, principal: Principal, *, limit: int, cursor: str | None) -> Page[Source]:
        """Of the caller's tenant, for governors and auditors."""
        require(principal, Scope.GOVERN, Scope.AUDIT)
        trust_view_for(self.ledger, principal)
        listed = listing(principal, "sources")
        page = self.ledger.list_sources(
            principal.tenant, limit=limit, cursor=self.cursors.open(cursor, listing=listed)
        )
        return Page(page.items, self.cursors.seal(page.next, listing=listed))


def _acl(given: tuple[str, ...] | None, tenant: str, field: str) -> Acl | None:
    return None if given is None else validation.acl(given, tenant=tenant, field=f"{field}.allow")


def _label(text: str | None, field: str) -> str | None:
    if text is None:
        return None
    return validation.printable(text, field=field, limit=_MAX_LABEL_CHARACTERS)


def _source(tenant: str, request: SourceRequest) -> Source:
    if request.isolation == "index":
        raise Unprocessable(
            "Isolated sources are not available in this deployment.",
            code="not-available",
            field="isolation",
        )
    if request.isolation != "shared":
        raise Unprocessable("Isolation is shared or index.", field="isolation")
    source = Source(
        key=SourceKey(tenant, validation.source_id(request.source_id)),
        trust_domain=validation.printable(request.trust_domain, field="trust_domain", limit=128),
        writers=validation.terms(request.writers, tenant=tenant, field="writers"),
        default_acl=_acl(request.default_acl, tenant, "default_acl"),
        max_acl=_acl(request.max_acl, tenant, "max_acl"),
        sidecar=request.sidecar,
        mirror_deletes=request.mirror_deletes,
        classification=_label(request.classification, "classification"),
        licence=_label(request.licence, "licence"),
        legal_basis=_label(request.legal_basis, "legal_basis"),
        retention_class=_label(request.retention_class, "retention_class"),
    )
    sources.check_rules(source)
    return source
