"""Control items, sources and principals: what governs a tenant, and the read that every search
makes of it."""

from __future__ import annotations

import itertools
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.calls import Row, Table
from custody.adapters.dynamodb.listing import list_keys
from custody.adapters.dynamodb.rows import (
    PageSecret,
    PrincipalControl,
    ServiceControl,
    TenantControl,
)
from custody.application.ports import Page
from custody.domain.ledger import transitions
from custody.domain.model import (
    Control,
    DocumentKey,
    Head,
    LedgerView,
    PolicyRef,
    Source,
    SourceKey,
    VerificationKey,
)
from custody.errors import Unavailable

_BODIES = ("sk", "body")


class Controls:
    def __init__(self, table: Table) -> None:
        self._table = table
        self._turn = itertools.count(int(table.new_token()[:8], 16))

    def view(
        self,
        tenant: str,
        subject: str,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        keys = [self._service_copy(), layout.tenant(tenant), layout.principal(tenant, subject)]
        keys += [layout.source(key) for key in sources]
        keys += [layout.head(key) for key in documents]
        bodies = self._bodies(keys)
        principals = codec.load_many(PrincipalControl, bodies["PRINCIPAL"])
        heads = codec.load_many(Head, bodies["HEAD"])
        found = codec.load_many(Source, bodies["SOURCE"])
        return LedgerView(
            control=_control(tenant, bodies),
            not_before=principals[0].not_before if principals else None,
            heads={head.key: head for head in heads},
            sources={source.key: source for source in found},
        )

    def control(self, tenant: str) -> Control:
        return _control(tenant, self._bodies([self._service_copy(), layout.tenant(tenant)]))

    def ping(self) -> None:
        self._table.get(self._service_copy())

    def _service_copy(self) -> layout.Key:
        return layout.service(next(self._turn) % layout.CONTROL_COPIES)

    def _bodies(self, keys: list[layout.Key]) -> dict[str, list[str]]:
        bodies: dict[str, list[str]] = defaultdict(list)
        for item in self._table.batch(keys, attributes=_BODIES):
            bodies[item["sk"]["S"]].append(item["body"]["S"])
        return bodies

    # writing

    def put_key(self, key: VerificationKey) -> None:
        def changed(service: ServiceControl) -> ServiceControl:
            kept = transitions.stored_key(service.keys.get(key.keyid), key)
            return replace(service, keys={**service.keys, key.keyid: kept})

        self._change_service(changed)

    def put_policy_ref(self, tenant: str | None, ref: PolicyRef) -> None:
        if tenant is None:
            self._change_service(
                lambda service: replace(service, policies={**service.policies, ref.name: ref})
            )
        else:
            self._change_tenant(
                tenant, lambda own: replace(own, policies={**own.policies, ref.name: ref})
            )

    def put_trust_domains(self, tenant: str, trust_domains: frozenset[str] | None) -> None:
        self._change_tenant(tenant, lambda own: replace(own, trust_domains=trust_domains))

    def set_not_before(self, tenant: str, subject: str, not_before: datetime) -> None:
        key = layout.principal(tenant, subject)
        for _ in self._table.pacing.tries():
            stored = rows.load(PrincipalControl, self._table.get(key))
            if stored is not None and stored.value.not_before >= not_before:
                return
            body = codec.dump(PrincipalControl(not_before))
            if self._table.write(Row(key, body, stored.revision if stored else 0)):
                return
        raise self._table.unavailable("contended")

    def _change_service(self, change: Callable[[ServiceControl], ServiceControl]) -> None:
        for _ in self._table.pacing.tries():
            stored = rows.load(ServiceControl, self._table.get(layout.service(0)))
            service = change(stored.value if stored else ServiceControl())
            if stored is not None and service == stored.value:
                return  # a redeployment puts the same again: no cache need forget anything
            body = codec.dump(replace(service, epoch=service.epoch + 1))
            expected = stored.revision if stored else 0
            copies = range(layout.CONTROL_COPIES)
            if self._table.write(*(Row(layout.service(copy), body, expected) for copy in copies)):
                return
        raise self._table.unavailable("contended")

    def _change_tenant(self, tenant: str, change: Callable[[TenantControl], TenantControl]) -> None:
        key = layout.tenant(tenant)
        for _ in self._table.pacing.tries():
            stored = rows.load(TenantControl, self._table.get(key))
            own = change(stored.value if stored else TenantControl())
            if stored is not None and own == stored.value:
                return
            body = codec.dump(replace(own, epoch=own.epoch + 1))
            if self._table.write(Row(key, body, stored.revision if stored else 0)):
                return
        raise self._table.unavailable("contended")

    def page_secret(self) -> bytes:
        """Whoever writes it first wins; it is never changed."""
        key = layout.page_secret()
        for _ in self._table.pacing.tries():
            stored = rows.load(PageSecret, self._table.get(key))
            if stored is not None:
                return stored.value.secret
            self._table.write(Row(key, codec.dump(PageSecret(secrets.token_bytes(32))), 0))
        raise self._table.unavailable("contended")

    # sources

    def source(self, key: SourceKey) -> Source | None:
        stored = rows.load(Source, self._table.get(layout.source(key)))
        return stored.value if stored else None

    def put_source(self, source: Source, *, expected_revision: int | None) -> Source:
        for _ in self._table.pacing.tries():
            stored = self.source(source.key)
            revision = stored.revision if stored else 0
            if expected_revision not in (None, revision):
                raise transitions.moved("source")
            after = replace(source, revision=revision + 1)
            if self._table.write(rows.source_row(after)):
                return after
        raise self._table.unavailable("contended")

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]:
        keys, following = list_keys(
            self._table, [layout.source_listing(tenant)], limit=limit, cursor=cursor
        )
        found = codec.load_many(Source, self._bodies(keys)["SOURCE"])
        ordered = sorted(found, key=lambda source: source.key.source_id)
        return Page(tuple(ordered), following)


def _control(tenant: str, bodies: dict[str, list[str]]) -> Control:
    if not bodies["CONTROL"]:
        raise Unavailable("The service has no control item.", code="policy-unavailable")
    service = codec.load(ServiceControl, bodies["CONTROL"][0])
    tenants = codec.load_many(TenantControl, bodies["TENANT"])
    own = tenants[0] if tenants else TenantControl()
    return Control(
        tenant=tenant,
        keys=service.keys,
        policies={**service.policies, **own.policies},
        trust_domains=own.trust_domains,
        epoch=service.epoch + own.epoch,
    )
