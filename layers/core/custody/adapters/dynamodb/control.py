"""Reading control items: the service's, in equal copies, and a tenant's own."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from custody.adapters.dynamodb import codec, layout, marks, rows
from custody.adapters.dynamodb.batches import Wanted, batch
from custody.adapters.dynamodb.rows import (
    PrincipalControl,
    Revocations,
    ServiceControl,
    TenantControl,
)
from custody.adapters.dynamodb.table import OnTrust
from custody.domain.ledger import transitions
from custody.domain.model import Control, LedgerView, Source, SourceKey
from custody.errors import NoControlItem

type Bodies = defaultdict[str, list[str]]
"""By sort key, in which the items of one view differ by kind."""

_BODIES = ("sk", "body")


class ControlReads(OnTrust):
    """``TrustReads``."""

    def trust_view(
        self, tenant: str, subject: str, sources: Collection[SourceKey] = ()
    ) -> LedgerView:
        return view_of(tenant, read_bodies(self._trust_keys(tenant, subject, sources)))

    def _ping_trust(self) -> None:
        stored = rows.load(ServiceControl, self._trust.get(self._service_copy()))
        if stored is None:
            raise _nothing_governs()
        marks.check(stored.value.layout)

    def _trust_keys(self, tenant: str, subject: str, sources: Iterable[SourceKey]) -> list[Wanted]:
        keys = [layout.principal(tenant, subject), *(layout.source(key) for key in sources)]
        return [*self._control_keys(tenant), *((self._trust, key) for key in keys)]

    def _control_keys(self, tenant: str) -> list[Wanted]:
        copy = next(self._turn) % layout.CONTROL_COPIES
        return [
            (self._revocations, layout.revocations(copy)),
            (self._trust, layout.service(copy)),
            (self._trust, layout.tenant(tenant)),
        ]

    def _service_copy(self) -> layout.Key:
        return layout.service(next(self._turn) % layout.CONTROL_COPIES)

    @cached_property
    def _turn(self) -> Iterator[int]:
        """Begins anywhere, so that many processes read all the copies."""
        return itertools.count(int(self._trust.new_token()[:8], 16))


def read_bodies(wanted: Sequence[Wanted]) -> Bodies:
    bodies: Bodies = defaultdict(list)
    for item in batch(wanted, attributes=_BODIES):
        bodies[item["sk"]["S"]].append(item.get("body", {}).get("S", ""))
    return bodies


def view_of(tenant: str, bodies: Bodies) -> LedgerView:
    """Without heads."""
    principals = codec.load_many(PrincipalControl, bodies["PRINCIPAL"])
    found = codec.load_many(Source, bodies["SOURCE"])
    return LedgerView(
        control=control_of(tenant, bodies),
        not_before=principals[0].not_before if principals else None,
        heads={},
        sources={source.key: source for source in found},
    )


def control_of(tenant: str, bodies: Bodies) -> Control:
    if not bodies["CONTROL"]:
        raise _nothing_governs()
    service = codec.load(ServiceControl, bodies["CONTROL"][0])
    marks.check(service.layout)
    tenants = codec.load_many(TenantControl, bodies["TENANT"])
    own = tenants[0] if tenants else TenantControl()
    revoked = codec.load_many(Revocations, bodies["REVOKED"])
    return Control(
        tenant=tenant,
        keys=transitions.with_revocations(service.keys, revoked[0].keyids if revoked else ()),
        policies={**service.policies, **own.policies},
        trust_domains=own.trust_domains,
        epoch=service.epoch + own.epoch,
        policies_since={**_without(service.since, own.policies), **own.since},
        own_policies=frozenset(own.policies),
    )


def _without(since: Mapping[str, datetime], names: Collection[str]) -> dict[str, datetime]:
    return {name: at for name, at in since.items() if name not in names}


def _nothing_governs() -> NoControlItem:
    return NoControlItem("The service has no control item.")
