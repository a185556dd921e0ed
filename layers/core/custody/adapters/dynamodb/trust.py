"""Keys, policies, trust domains and what tokens are void: what governs a tenant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from custody.adapters.dynamodb import codec, layout, marks, rows
from custody.adapters.dynamodb.control import ControlReads, control_of, read_bodies
from custody.adapters.dynamodb.rows import (
    PrincipalControl,
    Revocations,
    ServiceControl,
    Stored,
    TenantControl,
)
from custody.adapters.dynamodb.writes import Row, write
from custody.domain.ledger import transitions
from custody.domain.ledger.trust_changes import TrustChange
from custody.domain.model import Control, KeyState, PolicyRef, VerificationKey
from custody.errors import NotFound


class DynamoGovernance(ControlReads):
    """``TrustLedger``."""

    def control(self, tenant: str) -> Control:
        return control_of(tenant, read_bodies(self._control_keys(tenant)))

    def put_key(self, key: VerificationKey) -> None:
        def changed(service: ServiceControl) -> ServiceControl:
            kept = transitions.stored_key(self._known(service, key.keyid), key)
            return replace(service, keys={**service.keys, key.keyid: kept})

        revoked = key.keyid if key.state is KeyState.REVOKED else None
        self._change_service(changed, revoked=revoked)

    def set_key_state(self, keyid: str, state: KeyState, change: TrustChange) -> VerificationKey:
        def changed(service: ServiceControl) -> ServiceControl:
            known = self._known(service, keyid)
            if known is None:
                raise NotFound("There is no such key.", code="key-not-found")
            wanted = transitions.stored_key(known, replace(known, state=state))
            return replace(service, keys={**service.keys, keyid: wanted})

        revoked = keyid if state is KeyState.REVOKED else None
        after = self._change_service(changed, None, change, revoked=revoked)
        return replace(after.keys[keyid], state=state)

    def _known(self, service: ServiceControl, keyid: str) -> VerificationKey | None:
        key = service.keys.get(keyid)
        return (
            None
            if key is None
            else transitions.with_revocations({keyid: key}, self._revoked(0).value.keyids)[keyid]
        )

    def _revoked(self, copy: int) -> Stored[Revocations]:
        stored = rows.load(Revocations, self._revocations.get(layout.revocations(copy)))
        return stored or Stored(Revocations(), 0)

    def put_policy_ref(
        self,
        tenant: str | None,
        ref: PolicyRef,
        *,
        change: TrustChange | None = None,
        expected: PolicyRef | None = None,
    ) -> None:
        since = {} if change is None else {ref.name: change.at}

        def put[Item: (ServiceControl, TenantControl)](item: Item) -> Item:
            transitions.expect_policy(item.policies.get(ref.name), expected)
            return replace(
                item,
                policies={**item.policies, ref.name: ref},
                since={**_without(item.since, ref.name), **since},
            )

        if tenant is None:
            self._change_service(put, None, change)
        else:
            self._change_tenant(tenant, put, change)

    def drop_policy_ref(
        self, tenant: str, name: str, *, expected: PolicyRef, change: TrustChange
    ) -> None:
        def drop(own: TenantControl) -> TenantControl:
            transitions.expect_policy(own.policies.get(name), expected)
            return replace(
                own, policies=_without(own.policies, name), since=_without(own.since, name)
            )

        self._change_tenant(tenant, drop, change)

    def packaged_policies(self) -> Mapping[str, str]:
        stored = rows.load(ServiceControl, self._trust.get(self._service_copy()))
        return stored.value.packaged if stored else {}

    def put_packaged(self, name: str, digest: str) -> None:
        self._change_service(
            lambda service: replace(service, packaged={**service.packaged, name: digest})
        )

    def trust_changes(self, tenant: str | None, about: str) -> Sequence[TrustChange]:
        pk = layout.trust_changes(tenant or "", about)
        found = rows.every(self._trust, pk, layout.TRUST_CHANGE)
        return tuple(codec.load_many(TrustChange, found))

    def put_trust_domains(self, tenant: str, trust_domains: frozenset[str] | None) -> None:
        self._change_tenant(tenant, lambda own: replace(own, trust_domains=trust_domains))

    def set_not_before(
        self,
        tenant: str,
        subject: str,
        not_before: datetime,
        *,
        change: TrustChange | None = None,
    ) -> datetime:
        key = layout.principal(tenant, subject)
        for _ in self._trust.pacing.tries():
            stored = rows.load(PrincipalControl, self._trust.get(key))
            if stored is not None and stored.value.not_before >= not_before:
                return stored.value.not_before
            body = codec.dump(PrincipalControl(not_before))
            row = Row(self._trust, key, body, stored.revision if stored else 0)
            if write(row, *self._kept(tenant, change)):
                return not_before
        raise self._trust.unavailable("contended")

    def _kept(self, tenant: str | None, change: TrustChange | None) -> list[Row]:
        return [] if change is None else [rows.trust_change_row(self._trust, tenant, change)]

    def _change_service(
        self,
        decide: Callable[[ServiceControl], ServiceControl],
        tenant: str | None = None,
        change: TrustChange | None = None,
        *,
        revoked: str | None = None,
    ) -> ServiceControl:
        for _ in self._trust.pacing.tries():
            stored = rows.load(ServiceControl, self._trust.get(layout.service(0)))
            if stored is not None:
                marks.check(stored.value.layout)
            service = decide(stored.value if stored else ServiceControl(layout=layout.LAYOUT))
            taken_away = [] if revoked is None else self._revocation(revoked)
            if stored is not None and service == stored.value and not taken_away:
                return service  # a redeployment puts the same again: no cache need forget anything
            service = replace(service, epoch=service.epoch + 1)
            body, expected = codec.dump(service), stored.revision if stored else 0
            copies = range(layout.CONTROL_COPIES)
            written = [Row(self._trust, layout.service(copy), body, expected) for copy in copies]
            if write(*written, *taken_away, *self._kept(tenant, change)):
                return service
        raise self._trust.unavailable("contended")

    def _revocation(self, keyid: str) -> list[Row]:
        """Nothing, where it stands there already."""
        stored = self._revoked(0)
        if keyid in stored.value.keyids:
            return []
        body = codec.dump(Revocations(stored.value.keyids | {keyid}))
        return [
            Row(self._revocations, layout.revocations(copy), body, stored.revision)
            for copy in range(layout.CONTROL_COPIES)
        ]

    def _change_tenant(
        self,
        tenant: str,
        decide: Callable[[TenantControl], TenantControl],
        change: TrustChange | None = None,
    ) -> None:
        key = layout.tenant(tenant)
        for _ in self._trust.pacing.tries():
            stored = rows.load(TenantControl, self._trust.get(key))
            own = decide(stored.value if stored else TenantControl())
            if stored is not None and own == stored.value:
                return
            body = codec.dump(replace(own, epoch=own.epoch + 1))
            row = Row(self._trust, key, body, stored.revision if stored else 0)
            if write(row, *self._kept(tenant, change)):
                return
        raise self._trust.unavailable("contended")


def _without[Value](values: Mapping[str, Value], name: str) -> dict[str, Value]:
    return {each: value for each, value in values.items() if each != name}
