"""What a source allows: who publishes as it, how wide its documents may be, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from custody.domain.model import (
    EVERYONE,
    PUBLIC_TENANT,
    Acl,
    Principal,
    Scope,
    Source,
    SourceState,
)
from custody.errors import Conflict, Forbidden, IntegrityError, Unprocessable


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What a source was from ``at`` until the next change. ``revision``: the source's own after it.
    ``by``: the subject who made it, None where nobody told."""

    revision: int
    state: SourceState
    trust_domain: str
    at: datetime
    by: str | None = None
    reason: str | None = None
    max_acl: Acl | None = None


def change_of(source: Source, *, by: str | None, reason: str | None) -> SourceChange:
    """``source`` as it was just stored. Raises IntegrityError(source-undated) where it does not say
    when it changed."""
    at = source.updated_at or source.created_at
    if at is None:
        raise IntegrityError("The source does not say when it changed.", code="source-undated")
    return SourceChange(
        source.revision, source.state, source.trust_domain, at, by, reason, source.max_acl
    )


def source_at(changes: Iterable[SourceChange], moment: datetime) -> SourceChange | None:
    """The change that was in force at ``moment``, None where the source did not exist yet. Of two
    with one time, or where a clock went back, the later revision decides."""
    began = [change for change in changes if change.at <= moment]
    return max(began, key=lambda change: change.revision, default=None)


class SourceFault(StrEnum):
    """Why a document is refused that lies with its source: nothing is wrong with the file, and it
    may be taken once the source is changed."""

    UNKNOWN = "unknown-source"
    QUARANTINED = "source-quarantined"
    RETIRED = "source-retired"
    ACL_REQUIRED = "acl-required"
    ACL_TOO_WIDE = "acl-too-wide"


_OF_STATE = {
    SourceState.QUARANTINED: SourceFault.QUARANTINED,
    SourceState.RETIRED: SourceFault.RETIRED,
}


def within(acl: Acl, limit: Acl, *, tenant: str) -> bool:
    """True when ``acl`` lets in nobody that ``limit`` keeps out.

    Only the tenant's own principals reach its documents, so its ``tenant:`` term contains every
    other term but ``everyone``.
    """
    if f"tenant:{tenant}" in limit.allow and EVERYONE not in acl.allow:
        return True
    return acl.within(limit)


def check_rules(source: Source) -> None:
    """The source's own ACLs must agree. Raises Unprocessable."""
    if source.key.tenant == PUBLIC_TENANT:
        for field, acl in (("default_acl", source.default_acl), ("max_acl", source.max_acl)):
            if acl is not None and acl.allow != (EVERYONE,):
                raise Unprocessable(
                    "A public source has one ACL term, everyone.", field=f"{field}.allow"
                )
    if (
        source.default_acl is not None
        and source.max_acl is not None
        and not within(source.default_acl, source.max_acl, tenant=source.key.tenant)
    ):
        raise Unprocessable(
            "The default ACL is wider than the source's max_acl.",
            code=SourceFault.ACL_TOO_WIDE,
            field="default_acl.allow",
        )


def check_acl(source: Source, acl: Acl, *, field: str = "acl.allow") -> Acl:
    """Raises Unprocessable(acl-too-wide)."""
    if source.key.tenant == PUBLIC_TENANT and acl.allow != (EVERYONE,):
        raise Unprocessable("A public document has one ACL term, everyone.", field=field)
    if source.max_acl is not None and not within(acl, source.max_acl, tenant=source.key.tenant):
        raise Unprocessable(
            "The ACL is wider than its source allows.", code=SourceFault.ACL_TOO_WIDE, field=field
        )
    return acl


def document_acl(source: Source, wanted: Acl | None, kept: Acl | None = None) -> Acl:
    """The ACL of a new version. ``kept``: the document's own, which holds where the version brings
    none; a ``max_acl`` that was tightened since binds it when it is read. Raises
    Unprocessable(acl-required | acl-too-wide)."""
    if wanted is None and kept is not None:
        return kept
    acl = wanted if wanted is not None else source.default_acl
    if acl is None:
        raise Unprocessable(
            "The source has no default ACL, so the document must bring one.",
            code=SourceFault.ACL_REQUIRED,
            field="acl",
        )
    return check_acl(source, acl)


def sidecar_acl(source: Source, wanted: Acl) -> Acl:
    """A sidecar can only narrow what would hold without it. Raises Unprocessable."""
    check_acl(source, wanted)
    if source.default_acl is not None and not within(
        wanted, source.default_acl, tenant=source.key.tenant
    ):
        raise Unprocessable(
            "The sidecar's ACL is wider than its source's.",
            code=SourceFault.ACL_TOO_WIDE,
            field="acl",
        )
    return wanted


def is_writer(principal: Principal, source: Source) -> bool:
    """Inside one tenant only; a public source also asks for the govern scope."""
    if principal.tenant != source.key.tenant:
        return False
    if source.key.tenant == PUBLIC_TENANT and not principal.may(Scope.GOVERN):
        return False
    return not principal.terms.isdisjoint(source.writers)


def check_writer(principal: Principal, source: Source) -> None:
    if not is_writer(principal, source):
        raise Forbidden("The caller is no writer of this source.", code="not-a-writer")


def check_active(source: Source) -> None:
    """Raises Conflict(source-quarantined | source-retired)."""
    if source.state is not SourceState.ACTIVE:
        raise Conflict(
            f"The source is {source.state.value.lower()} and takes no documents.",
            code=_OF_STATE[source.state],
        )
