"""Keys, policies, trust domains and what tokens are void: what governs a tenant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from custody.adapters.dynamodb import codec, layout, marks, rows
from custody.adapters.dynamodb.control import ControlReads, control_of, read_bodies
from custody.adapters.dynamodb.rows import PrincipalControl, ServiceControl, TenantControl
from custody.adapters.dynamodb.writes import Row, write
from custody.domain.ledger import transitions
from custody.domain.model import Control, PolicyRef, VerificationKey


class DynamoGovernance(ControlReads):
    """``TrustLedger``."""

    def control(self, tenant: str) -> Control:
        keys = (self._service_copy(), layout.tenant(tenant))
        return control_of(tenant, read_bodies([(self._trust, key) for key in keys]))

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
        for _ in self._trust.pacing.tries():
            stored = rows.load(PrincipalControl, self._trust.get(key))
            if stored is not None and stored.value.not_before >= not_before:
                return
            body = codec.dump(PrincipalControl(not_before))
            if write(Row(self._trust, key, body, stored.revision if stored else 0)):
                return
        raise self._trust.unavailable("contended")

    def _change_service(self, change: Callable[[ServiceControl], ServiceControl]) -> None:
        for _ in self._trust.pacing.tries():
            stored = rows.load(ServiceControl, self._trust.get(layout.service(0)))
            if stored is not None:
                marks.check(stored.value.layout)
            service = change(stored.value if stored else ServiceControl(layout=layout.LAYOUT))
            if stored is not None and service == stored.value:
                return  # a redeployment puts the same again: no cache need forget anything
            body = codec.dump(replace(service, epoch=service.epoch + 1))
            expected = stored.revision if stored else 0
            copies = range(layout.CONTROL_COPIES)
            if write(*(Row(self._trust, layout.service(copy), body, expected) for copy in copies)):
                return
        raise self._trust.unavailable("contended")

    def _change_tenant(self, tenant: str, change: Callable[[TenantControl], TenantControl]) -> None:
        key = layout.tenant(tenant)
        for _ in self._trust.pacing.tries():
            stored = rows.load(TenantControl, self._trust.get(key))
            own = change(stored.value if stored else TenantControl())
            if stored is not None and own == stored.value:
                return
            body = codec.dump(replace(own, epoch=own.epoch + 1))
            if write(Row(self._trust, key, body, stored.revision if stored else 0)):
                return
        raise self._trust.unavailable("contended")
