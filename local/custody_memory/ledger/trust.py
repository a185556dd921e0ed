"""Keys, policies, trust domains and what tokens are void."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from custody.domain.ledger import transitions
from custody.domain.ledger.trust_changes import TrustChange
from custody.domain.model import Control, KeyState, PolicyRef, VerificationKey
from custody.errors import NoControlItem, NotFound
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
        since = {n: at for n, at in self._policies_since.items() if n not in own.policies}
        return Control(
            tenant=tenant,
            keys=transitions.with_revocations(dict(self._keys), self._revoked),
            policies={**self._policies, **own.policies},
            trust_domains=own.trust_domains,
            epoch=self._service_epoch + own.epoch,
            policies_since={**since, **own.since},
            own_policies=frozenset(own.policies),
        )

    def _check_governed(self) -> None:
        if self._service_epoch == 0:
            raise NoControlItem("The service has no control item.")

    def put_key(self, key: VerificationKey) -> None:
        with self._lock:
            self._keep_key(key)

    def _keep_key(self, key: VerificationKey) -> None:
        stored = self._known(key.keyid)
        self._keys[key.keyid] = transitions.stored_key(stored, key)
        if key.state is KeyState.REVOKED:
            self._revoked.add(key.keyid)
        if stored != key:
            self._service_changed()

    def _known(self, keyid: str) -> VerificationKey | None:
        return transitions.with_revocations(self._keys, self._revoked).get(keyid)

    def set_key_state(self, keyid: str, state: KeyState, change: TrustChange) -> VerificationKey:
        with self._lock:
            known = self._known(keyid)
            if known is None:
                raise NotFound("There is no such key.", code="key-not-found")
            if known.state is not state or known != self._keys[keyid]:
                self._keep_key(replace(known, state=state))
                self._keep(None, change)
            return replace(known, state=state)

    def _keep(self, tenant: str | None, change: TrustChange | None) -> None:
        if change is not None:
            self._trust_changes.setdefault((tenant, change.about), []).append(change)

    def put_policy_ref(
        self,
        tenant: str | None,
        ref: PolicyRef,
        *,
        change: TrustChange | None = None,
        expected: PolicyRef | None = None,
    ) -> None:
        with self._lock:
            if tenant is None:
                policies, since = self._policies, self._policies_since
            else:
                own = self._tenants.get(tenant, TenantControl())
                policies, since = own.policies, own.since
            transitions.expect_policy(policies.get(ref.name), expected)
            at = None if change is None else change.at
            if (policies.get(ref.name), since.get(ref.name)) == (ref, at):
                return
            if tenant is None:
                self._service_changed()
            else:
                own = self._tenant(tenant)
                policies, since = own.policies, own.since
            policies[ref.name] = ref
            since.pop(ref.name, None)
            if at is not None:
                since[ref.name] = at
            self._keep(tenant, change)

    def drop_policy_ref(
        self, tenant: str, name: str, *, expected: PolicyRef, change: TrustChange
    ) -> None:
        with self._lock:
            held = self._tenants.get(tenant, TenantControl()).policies.get(name)
            transitions.expect_policy(held, expected)
            own = self._tenant(tenant)
            own.policies.pop(name, None)
            own.since.pop(name, None)
            self._keep(tenant, change)

    def packaged_policies(self) -> Mapping[str, str]:
        with self._lock:
            return dict(self._packaged)

    def put_packaged(self, name: str, digest: str) -> None:
        with self._lock:
            self._packaged[name] = digest

    def trust_changes(self, tenant: str | None, about: str) -> Sequence[TrustChange]:
        with self._lock:
            return tuple(self._trust_changes.get((tenant, about), ()))

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

    def set_not_before(
        self,
        tenant: str,
        subject: str,
        not_before: datetime,
        *,
        change: TrustChange | None = None,
    ) -> datetime:
        with self._lock:
            stored = self._not_before.get((tenant, subject))
            if stored is not None and stored >= not_before:
                return stored
            self._not_before[tenant, subject] = not_before
            self._keep(tenant, change)
            return not_before
