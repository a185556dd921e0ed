"""Keys, policies, trust domains and what tokens are void."""

from __future__ import annotations

import secrets
from datetime import datetime

from custody.domain.ledger import transitions
from custody.domain.model import Control, PolicyRef, VerificationKey
from custody.errors import NoControlItem
from custody_memory.ledger.state import State, TenantControl


class MemoryTrust(State):
    def control(self, tenant: str) -> Control:
        with self._lock:
            found = self._controls.get(tenant)
            if found is None:
                found = self._controls[tenant] = self._build_control(tenant)
            return found

    def _build_control(self, tenant: str) -> Control:
        self._check_governed()
        own = self._tenants.get(tenant, TenantControl())
        return Control(
            tenant=tenant,
            keys=dict(self._keys),
            policies={**self._policies, **own.policies},
            trust_domains=own.trust_domains,
            epoch=self._service_epoch + own.epoch,
        )

    def _check_governed(self) -> None:
        if self._service_epoch == 0:
            raise NoControlItem("The service has no control item.")

    def put_key(self, key: VerificationKey) -> None:
        with self._lock:
            stored = self._keys.get(key.keyid)
            self._keys[key.keyid] = transitions.stored_key(stored, key)
            if stored != key:
                self._service_changed()

    def put_policy_ref(self, tenant: str | None, ref: PolicyRef) -> None:
        with self._lock:
            if tenant is not None:
                own = self._tenants.get(tenant)
                if own is None or own.policies.get(ref.name) != ref:
                    self._tenant(tenant).policies[ref.name] = ref
            elif self._policies.get(ref.name) != ref:
                self._policies[ref.name] = ref
                self._service_changed()

    def put_trust_domains(self, tenant: str, trust_domains: frozenset[str] | None) -> None:
        with self._lock:
            own = self._tenants.get(tenant)
            if own is None or own.trust_domains != trust_domains:
                self._tenant(tenant).trust_domains = trust_domains

    def make_page_secret(self) -> None:
        with self._lock:
            self._page_secret = self._page_secret or secrets.token_bytes(32)

    def _service_changed(self) -> None:
        self._service_epoch += 1
        self._controls.clear()

    def _tenant(self, tenant: str) -> TenantControl:
        self._controls.pop(tenant, None)
        control = self._tenants.setdefault(tenant, TenantControl())
        control.epoch += 1
        return control

    def set_not_before(self, tenant: str, subject: str, not_before: datetime) -> None:
        with self._lock:
            stored = self._not_before.get((tenant, subject))
            self._not_before[tenant, subject] = max(stored or not_before, not_before)
