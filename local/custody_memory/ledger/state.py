"""What every part of the ledger shares: one state under one lock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from custody.domain.ledger import transitions
from custody.domain.ledger.acl_history import AclRevision
from custody.domain.ledger.drops import Drop
from custody.domain.ledger.erasures import Erasure
from custody.domain.ledger.sources import SourceChange
from custody.domain.ledger.trust_changes import TrustChange
from custody.domain.model import (
    Control,
    DocumentKey,
    Head,
    PolicyRef,
    Source,
    SourceKey,
    VerificationKey,
    VersionRecord,
)


@dataclass(slots=True)
class TenantControl:
    policies: dict[str, PolicyRef] = field(default_factory=dict)
    trust_domains: frozenset[str] | None = None
    epoch: int = 0
    since: dict[str, datetime] = field(default_factory=dict)


class State:
    """``_store`` and ``_version`` are for whoever holds the lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._page_secret: bytes | None = None
        self._keys: dict[str, VerificationKey] = {}
        self._policies: dict[str, PolicyRef] = {}
        self._policies_since: dict[str, datetime] = {}
        self._packaged: dict[str, str] = {}
        self._revoked: set[str] = set()
        self._trust_changes: dict[tuple[str | None, str], list[TrustChange]] = {}
        self._service_epoch = 0
        self._tenants: dict[str, TenantControl] = {}
        self._controls: dict[str, Control] = {}
        self._not_before: dict[tuple[str, str], datetime] = {}
        self._sources: dict[SourceKey, Source] = {}
        self._source_changes: dict[SourceKey, list[SourceChange]] = {}
        self._heads: dict[DocumentKey, Head] = {}
        self._acl_revisions: dict[DocumentKey, list[AclRevision]] = {}
        self._versions: dict[DocumentKey, dict[int, VersionRecord]] = {}
        self._erasures: dict[tuple[str, str], Erasure] = {}
        self._drops: dict[tuple[str, str], dict[str, Drop]] = {}

    def _change_head(self, head: Head, revision: AclRevision) -> None:
        self._heads[head.key] = head
        self._acl_revisions.setdefault(head.key, []).append(revision)

    def _store(self, record: VersionRecord) -> None:
        self._versions.setdefault(record.key, {})[record.version] = record

    def _version(self, key: DocumentKey, version: int) -> VersionRecord | None:
        return self._versions.get(key, {}).get(version)

    def _change(
        self,
        key: DocumentKey,
        version: int,
        decide: Callable[[VersionRecord], VersionRecord | None],
    ) -> VersionRecord:
        with self._lock:
            record = transitions.record_of(self._version(key, version))
            after = decide(record)
            if after is None:
                return record
            self._store(after)
            return after
