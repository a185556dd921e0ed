"""The ledger in memory: the same decisions as the real one, under one lock."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from custody.application.ports import Flip, Page
from custody.domain.ledger import transitions
from custody.domain.ledger.drops import Drop
from custody.domain.ledger.erasures import Erasure, ErasureState
from custody.domain.model import (
    Acl,
    Control,
    DocumentKey,
    Envelope,
    Head,
    Inspection,
    LedgerView,
    ObjectRef,
    PolicyRef,
    Source,
    SourceKey,
    VerificationKey,
    VersionRecord,
)
from custody.errors import Conflict, Unavailable


@dataclass(slots=True)
class _TenantControl:
    policies: dict[str, PolicyRef] = field(default_factory=dict)
    trust_domains: frozenset[str] | None = None
    epoch: int = 0


class MemoryLedger:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._page_secret = secrets.token_bytes(32)
        self._keys: dict[str, VerificationKey] = {}
        self._policies: dict[str, PolicyRef] = {}
        self._service_epoch = 0
        self._tenants: dict[str, _TenantControl] = {}
        self._controls: dict[str, Control] = {}
        self._not_before: dict[tuple[str, str], datetime] = {}
        self._sources: dict[SourceKey, Source] = {}
        self._heads: dict[DocumentKey, Head] = {}
        self._versions: dict[DocumentKey, dict[int, VersionRecord]] = {}
        self._erasures: dict[tuple[str, str], Erasure] = {}
        self._drops: dict[tuple[str, str], dict[str, Drop]] = {}

    def ping(self) -> None:
        """Always there."""

    def page_secret(self) -> bytes:
        return self._page_secret

    # reading

    def view(
        self,
        tenant: str,
        subject: str,
        documents: Collection[DocumentKey],
        sources: Collection[SourceKey],
    ) -> LedgerView:
        with self._lock:
            heads = {key: head for key in documents if (head := self._heads.get(key))}
            return LedgerView(
                control=self.control(tenant),
                not_before=self._not_before.get((tenant, subject)),
                heads=heads,
                sources={key: found for key in sources if (found := self._sources.get(key))},
            )

    def control(self, tenant: str) -> Control:
        with self._lock:
            found = self._controls.get(tenant)
            if found is None:
                found = self._controls[tenant] = self._build_control(tenant)
            return found

    def _build_control(self, tenant: str) -> Control:
        if self._service_epoch == 0:
            raise Unavailable("The service has no control item.", code="policy-unavailable")
        own = self._tenants.get(tenant, _TenantControl())
        return Control(
            tenant=tenant,
            keys=dict(self._keys),
            policies={**self._policies, **own.policies},
            trust_domains=own.trust_domains,
            epoch=self._service_epoch + own.epoch,
        )

    def source(self, key: SourceKey) -> Source | None:
        with self._lock:
            return self._sources.get(key)

    def head(self, key: DocumentKey) -> Head | None:
        with self._lock:
            return self._heads.get(key)

    def version(self, key: DocumentKey, version: int) -> VersionRecord | None:
        with self._lock:
            return self._versions.get(key, {}).get(version)

    def versions(
        self, key: DocumentKey, *, limit: int = 100, cursor: str | None = None
    ) -> Page[VersionRecord]:
        with self._lock:
            records = self._versions.get(key, {})
            below = transitions.version_cursor(cursor)
            numbers = sorted((n for n in records if below is None or n < below), reverse=True)
            items = tuple(records[n] for n in numbers[:limit])
        more = len(numbers) > limit
        return Page(items, str(items[-1].version) if more and items else None)

    def list_heads(
        self,
        tenant: str,
        *,
        source_id: str | None,
        state: str | None,
        name: str | None,
        limit: int,
        cursor: str | None,
    ) -> Page[Head]:
        with self._lock:
            heads = [
                head
                for key, head in self._heads.items()
                if key.tenant == tenant
                and source_id in (None, head.source_id)
                and state in (None, head.state.value)
                and name in (None, head.name)
            ]
        return _page(heads, transitions.listing_position, limit, cursor)

    def list_sources(self, tenant: str, *, limit: int, cursor: str | None) -> Page[Source]:
        with self._lock:
            sources = [source for key, source in self._sources.items() if key.tenant == tenant]
        return _page(sources, lambda source: source.key.source_id, limit, cursor)

    # control

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

    def _service_changed(self) -> None:
        self._service_epoch += 1
        self._controls.clear()

    def _tenant(self, tenant: str) -> _TenantControl:
        self._controls.pop(tenant, None)
        control = self._tenants.setdefault(tenant, _TenantControl())
        control.epoch += 1
        return control

    def set_not_before(self, tenant: str, subject: str, not_before: datetime) -> None:
        with self._lock:
            stored = self._not_before.get((tenant, subject))
            self._not_before[tenant, subject] = max(stored or not_before, not_before)

    # sources

    def put_source(self, source: Source, *, expected_revision: int | None) -> Source:
        with self._lock:
            stored = self._sources.get(source.key)
            revision = stored.revision if stored else 0
            if expected_revision not in (None, revision):
                raise transitions.moved("source")
            after = replace(source, revision=revision + 1)
            self._sources[source.key] = after
            return after

    # documents

    def accept(
        self, draft: VersionRecord, *, expected_revision: int, drop: Drop | None = None
    ) -> VersionRecord:
        with self._lock:
            head, record = transitions.accepted(
                self._heads.get(draft.key), draft, expected_revision
            )
            if drop is not None:
                self._store_drop(replace(drop, version=record.version))
            self._heads[draft.key] = head
            self._store(record)
            return record

    def chunked(
        self,
        key: DocumentKey,
        version: int,
        *,
        chunks: ObjectRef,
        chunk_count: int,
        parts_total: int,
        parser: str,
        chunker: str,
        title: str | None,
        inspection: Inspection,
    ) -> VersionRecord:
        return self._change(
            key,
            version,
            lambda record: transitions.chunked(
                record,
                chunks=chunks,
                chunk_count=chunk_count,
                parts_total=parts_total,
                parser=parser,
                chunker=chunker,
                title=title,
                inspection=inspection,
            ),
        )

    def part_done(
        self, key: DocumentKey, version: int, part: int, *, model_revision: str
    ) -> VersionRecord:
        return self._change(
            key, version, lambda record: transitions.part_done(record, part, model_revision)
        )

    def signed(self, record: VersionRecord) -> VersionRecord:
        return self._change(
            record.key, record.version, lambda stored: transitions.signed(stored, record)
        )

    def flip(self, flip: Flip) -> Head | None:
        key, version = flip.record.key, flip.record.version
        with self._lock:
            former = self._heads.get(key)
            result = transitions.flipped(former, self.version(key, version), flip.record)
            if result.record is not None:
                self._store(result.record)
            if result.write_head and result.head is not None and former is not None:
                self._heads[key] = result.head
                past = transitions.superseded(self.version(key, former.version))
                if past is not None:
                    self._store(past)
            return result.head

    def reject(self, key: DocumentKey, version: int, reasons: Sequence[str]) -> None:
        with self._lock:
            result = transitions.rejected(self._heads.get(key), self.version(key, version), reasons)
            if result is None:
                return
            head, record = result
            self._store(record)
            if head is not None:
                self._heads[key] = head

    def narrow(self, key: DocumentKey, acl: Acl, *, expected_revision: int) -> Head:
        with self._lock:
            head = transitions.narrowed(self._heads.get(key), acl, expected_revision)
            self._heads[key] = head
            return head

    def flip_acl(
        self,
        key: DocumentKey,
        *,
        version: int,
        acl_revision: int,
        acl: Acl,
        statement_id: str,
        envelope: Envelope,
    ) -> Head | None:
        with self._lock:
            result = transitions.flipped_acl(
                self._heads.get(key),
                self.version(key, version),
                acl_revision=acl_revision,
                acl=acl,
                statement_id=statement_id,
                envelope=envelope,
            )
            if not isinstance(result, tuple):
                return result
            head, record = result
            self._heads[key] = head
            self._store(record)
            return head

    # erasure

    def tombstone(self, erasure: Erasure, *, expected_revision: int) -> Head:
        with self._lock:
            head = self._heads.get(erasure.key)
            if head is not None and head.erasure_id == erasure.erasure_id:
                return head
            slot = (erasure.key.tenant, erasure.erasure_id)
            after, stored = transitions.tombstoned(head, erasure, expected_revision)
            if slot in self._erasures:
                raise Conflict("The erasure id is already in use.", code="version-conflict")
            self._heads[erasure.key] = after
            self._erasures[slot] = stored
            return after

    def erasure(self, tenant: str, erasure_id: str) -> Erasure | None:
        with self._lock:
            return self._erasures.get((tenant, erasure_id))

    def put_erasure(self, erasure: Erasure) -> None:
        """A COMPLETE one is never put back by a slower delivery."""
        slot = (erasure.key.tenant, erasure.erasure_id)
        with self._lock:
            stored = self._erasures.get(slot)
            if (
                stored is None
                or stored.state is not ErasureState.COMPLETE
                or erasure.state is ErasureState.COMPLETE
            ):
                self._erasures[slot] = erasure

    def mark_erased(self, key: DocumentKey, version: int) -> None:
        with self._lock:
            record = transitions.stripped(self._heads.get(key), self.version(key, version), key)
            if record is not None:
                self._store(record)

    # drops

    def drop(self, source: SourceKey, name: str) -> Drop | None:
        with self._lock:
            return self._drops.get((source.tenant, name), {}).get(source.source_id)

    def put_drop(self, drop: Drop) -> Drop:
        with self._lock:
            return self._store_drop(drop)

    def find_drops(self, tenant: str, name: str) -> Sequence[Drop]:
        with self._lock:
            found = self._drops.get((tenant, name), {})
            return tuple(found[source_id] for source_id in sorted(found))

    # fault injection

    def plant(
        self,
        *,
        heads: Iterable[Head] = (),
        records: Iterable[VersionRecord] = (),
        sources: Iterable[Source] = (),
    ) -> None:
        """Store exactly these, past every rule: what a test or a benchmark starts from."""
        with self._lock:
            self._heads.update((head.key, head) for head in heads)
            self._sources.update((source.key, source) for source in sources)
            for record in records:
                self._store(record)

    # inside the lock

    def _store(self, record: VersionRecord) -> None:
        self._versions.setdefault(record.key, {})[record.version] = record

    def _store_drop(self, drop: Drop) -> Drop:
        stored = self.drop(drop.source, drop.name)
        if (stored.revision if stored else 0) != drop.revision:
            raise transitions.moved("drop")
        after = replace(drop, revision=drop.revision + 1)
        self._drops.setdefault((drop.source.tenant, drop.name), {})[drop.source.source_id] = after
        return after

    def _change(
        self,
        key: DocumentKey,
        version: int,
        decide: Callable[[VersionRecord], VersionRecord | None],
    ) -> VersionRecord:
        with self._lock:
            record = transitions.record_of(self.version(key, version))
            after = decide(record)
            if after is None:
                return record
            self._store(after)
            return after


def _page[T](
    items: list[T], position: Callable[[T], str], limit: int, cursor: str | None
) -> Page[T]:
    by_position: Mapping[str, T] = {position(item): item for item in items}
    after = sorted(place for place in by_position if cursor is None or place > cursor)
    page = tuple(by_position[place] for place in after[:limit])
    return Page(page, after[limit - 1] if len(after) > limit else None)
