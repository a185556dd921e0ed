"""What a source allows: who publishes as it, and how wide its documents may be."""

from __future__ import annotations

from custody.domain.model import (
    EVERYONE,
    PUBLIC_TENANT,
    Acl,
    Principal,
    Scope,
    Source,
    SourceState,
)
from custody.errors import Conflict, Forbidden, Unprocessable


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
            code="acl-too-wide",
            field="default_acl.allow",
        )


def check_acl(source: Source, acl: Acl, *, field: str = "acl.allow") -> Acl:
    """Raises Unprocessable(acl-too-wide)."""
    if source.key.tenant == PUBLIC_TENANT and acl.allow != (EVERYONE,):
        raise Unprocessable("A public document has one ACL term, everyone.", field=field)
    if source.max_acl is not None and not within(acl, source.max_acl, tenant=source.key.tenant):
        raise Unprocessable(
            "The ACL is wider than its source allows.", code="acl-too-wide", field=field
        )
    return acl


def document_acl(source: Source, wanted: Acl | None) -> Acl:
    """The ACL of a new version. Raises Unprocessable(acl-required | acl-too-wide)."""
    acl = wanted if wanted is not None else source.default_acl
    if acl is None:
        raise Unprocessable(
            "The source has no default ACL, so the document must bring one.",
            code="acl-required",
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
            "The sidecar's ACL is wider than its source's.", code="acl-too-wide", field="acl"
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
            code=f"source-{source.state.value.lower()}",
        )
