"""The nouns of Custody, as frozen values.

Times are timezone-aware UTC datetimes. Digests are lower-case hex SHA-256 unless a name says
otherwise. An ACL term is one of ``user:<sub>``, ``group:<g>``, ``tenant:<t>`` or ``everyone``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

PUBLIC_TENANT = "public"
EVERYONE = "everyone"

type MetadataValue = str | int | float | bool | tuple[str, ...]


class Scope(StrEnum):
    READ = "custody/read"
    WRITE = "custody/write"
    ERASE = "custody/erase"
    GOVERN = "custody/govern"
    AUDIT = "custody/audit"
    OVERRIDE = "custody/override"


class Outcome(StrEnum):
    """What the ledger check says of one candidate. Only VERIFIED is served."""

    VERIFIED = "VERIFIED"
    STALE = "STALE"
    UNAUTHORIZED = "UNAUTHORIZED"
    UNVERIFIED = "UNVERIFIED"
    TAMPERED = "TAMPERED"


class Denial(StrEnum):
    """Why a candidate is UNAUTHORIZED, in the order in which the checks run."""

    TENANT_MISMATCH = "tenant-mismatch"
    ACL_DENIED = "acl-denied"
    UNTRUSTED_SOURCE = "untrusted-source"
    CLASSIFICATION = "classification"


class Objection(StrEnum):
    """What stands against serving a candidate, more closely than its ``Outcome``."""

    UNKNOWN_DOCUMENT = "unknown-document"
    SUPERSEDED = "superseded"
    ERASED = "erased"
    NOT_LIVE = "not-live"
    NOT_YET_VALID = "not-yet-valid"
    EXPIRED = "expired"
    TOO_OLD = "too-old"
    SOURCE_ERASED = "source-erased"
    TENANT_MISMATCH = "tenant-mismatch"
    ACL_DENIED = "acl-denied"
    SOURCE_UNKNOWN = "source-unknown"
    SOURCE_QUARANTINED = "source-quarantined"
    SOURCE_RETIRED = "source-retired"
    TRUST_DOMAIN_NOT_ALLOWED = "trust-domain-not-allowed"
    VERSION_QUARANTINED = "version-quarantined"
    STATEMENT_MISSING = "statement-missing"
    KEY_UNKNOWN = "key-unknown"
    KEY_RETIRED = "key-retired"
    KEY_REVOKED = "key-revoked"
    KEY_OUTSIDE_WINDOW = "key-outside-window"
    SIGNATURE_MISMATCH = "signature-mismatch"
    STATEMENT_MISMATCH = "statement-mismatch"
    SOURCE_MISMATCH = "source-mismatch"
    CHUNK_MISMATCH = "chunk-mismatch"
    ENTRY_UNREADABLE = "entry-unreadable"
    ENTRY_REPEATED = "entry-repeated"
    OTHER_MODEL = "other-model"
    LEDGER_UNREADABLE = "ledger-unreadable"


class Leg(StrEnum):
    """A way in which an index finds candidates. In the order in which legs are fused and told."""

    SEMANTIC = "semantic"
    LEXICAL = "lexical"


class SourceState(StrEnum):
    ACTIVE = "ACTIVE"
    QUARANTINED = "QUARANTINED"
    RETIRED = "RETIRED"


class VersionState(StrEnum):
    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    SUPERSEDED = "SUPERSEDED"
    ERASED = "ERASED"
    REJECTED = "REJECTED"
    QUARANTINED = "QUARANTINED"


class KeyState(StrEnum):
    ACTIVE = "ACTIVE"
    RETIRED = "RETIRED"
    REVOKED = "REVOKED"


class SidecarMode(StrEnum):
    REQUIRED = "required"
    OPTIONAL = "optional"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. ``groups`` and ``scopes`` come from a verified token only."""

    subject: str
    tenant: str
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    issued_at: datetime | None = None
    expires_at: datetime | None = None

    @property
    def terms(self) -> frozenset[str]:
        """ACL terms that this principal satisfies, ``everyone`` included."""
        return frozenset(
            {f"user:{self.subject}", f"tenant:{self.tenant}", EVERYONE}
            | {f"group:{group}" for group in self.groups}
        )

    def may(self, scope: Scope) -> bool:
        return scope.value in self.scopes


@dataclass(frozen=True, slots=True)
class Acl:
    """Terms that may read. Sorted and unique, so that equal rights have equal digests."""

    allow: tuple[str, ...]

    @classmethod
    def of(cls, *terms: str) -> Acl:
        return cls(tuple(sorted(set(terms))))

    def permits(self, terms: frozenset[str]) -> bool:
        return not terms.isdisjoint(self.allow)

    def within(self, other: Acl) -> bool:
        """True when nobody outside ``other`` is allowed. ``everyone`` contains every term."""
        return EVERYONE in other.allow or set(self.allow) <= set(other.allow)


class DocumentKey(NamedTuple):
    tenant: str
    document_id: str


class SourceKey(NamedTuple):
    tenant: str
    source_id: str


class BuildKey(NamedTuple):
    """One index that was built. ``build_id``: unique in the tenant."""

    tenant: str
    build_id: str


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One pinned object: ``version_id`` is the store's own, so that the bytes can't change."""

    key: str
    version_id: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    key: SourceKey
    trust_domain: str
    writers: tuple[str, ...]
    default_acl: Acl | None = None
    max_acl: Acl | None = None
    sidecar: SidecarMode = SidecarMode.OPTIONAL
    isolation: str = "shared"
    mirror_deletes: bool = False
    classification: str | None = None
    licence: str | None = None
    legal_basis: str | None = None
    retention_class: str | None = None
    state: SourceState = SourceState.ACTIVE
    erased_through: datetime | None = None
    revision: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """A DSSE envelope: the payload's exact bytes and one signature over its PAE."""

    payload_type: str
    payload: bytes
    keyid: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key of the trust set, with its state and validity window."""

    keyid: str
    purpose: str  # "ingestion" | "policy" | "index"
    public_key_pem: str
    state: KeyState
    not_before: datetime
    not_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class PolicyRef:
    name: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Control:
    """The facts that govern the service and the tenant, read with every search.

    ``trust_domains`` is what the tenant's policy allows; ``None`` allows every registered domain.
    ``policies_since``: when each policy was put in force, where that was told. ``own_policies``: the
    names that the tenant has a policy of its own for.
    """

    tenant: str
    keys: Mapping[str, VerificationKey]
    policies: Mapping[str, PolicyRef]
    trust_domains: frozenset[str] | None = None
    epoch: int = 0
    policies_since: Mapping[str, datetime] = field(default_factory=dict)
    own_policies: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Head:
    """The live state of one document. ``version`` 0 means that nothing is live.

    ``accepted_version`` is the newest version that was let in (it may still be PENDING).
    ``narrowed_to`` holds a narrower ACL that is in force before its statement is signed.
    ``erased_through`` is the highest version that an erasure covers. ``acl_through`` is the highest
    version that had been accepted when the ACL was last changed: such a version, flipped later,
    yields to the changed ACL. ``acl_set`` and ``acl_set_at``: the ACL that somebody gave the document itself,
    and when; None while it goes by what its versions bring. ``withdrawn``: the code for which the
    service closed it until a new version comes.
    """

    key: DocumentKey
    source_id: str
    name: str
    revision: int
    version: int
    accepted_version: int
    acl: Acl
    state: VersionState
    uri: str | None = None
    title: str | None = None
    content_sha256: str | None = None
    chunk_root: str | None = None
    chunk_count: int = 0
    statement_id: str | None = None
    envelope: Envelope | None = None
    acl_revision: int = 0
    narrowed_to: Acl | None = None
    erased_through: int = 0
    erasure_id: str | None = None
    observed_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    recorded_at: datetime | None = None
    updated_at: datetime | None = None
    acl_through: int = 0
    acl_set: Acl | None = None
    acl_set_at: datetime | None = None
    withdrawn: str | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the door saw in the raw bytes."""

    content_hash: str
    signals: tuple[str, ...] = ()
    suspicious: bool = False
    active_content_removed: bool = False


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """One version of a document, from acceptance to its end. It was live from ``published_at`` on,
    until ``superseded_at``: by the flips' own times, and by that of the erasure's request. From
    ``expired_at`` on nothing of its content is kept (``domain/ledger/retention``)."""

    key: DocumentKey
    version: int
    source_id: str
    name: str
    state: VersionState
    content_type: str
    content_sha256: str
    raw: ObjectRef
    acl: Acl
    uri: str | None = None
    sidecar: ObjectRef | None = None
    title: str | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    observed_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    connector: str = "api"
    order: str | None = None  # the source's own sequence, where it has one
    accepted_at: datetime | None = None
    chunks: ObjectRef | None = None
    chunk_count: int = 0
    parts_total: int = 0
    parts_done: frozenset[int] = frozenset()
    chunk_root: str | None = None
    parser: str | None = None
    chunker: str | None = None
    model_revision: str | None = None
    inspection: Inspection | None = None
    statement_id: str | None = None
    envelope: Envelope | None = None
    reasons: tuple[str, ...] = ()
    published_at: datetime | None = None
    superseded_at: datetime | None = None
    acl_kept: bool = False  # the document's own ACL: the version brought none
    expired_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One canonical chunk: exactly what is digested, signed and served."""

    document_id: str
    version: int
    ordinal: int
    title: str | None
    heading: str | None
    page: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LedgerView:
    """One strongly consistent read: what the ledger says now of everything a search touched.

    ``not_before``: tokens of this principal issued earlier are void. A key that is missing from
    ``heads`` or ``sources`` does not exist, unless it is among the unreadable ones: their items are
    there and hold nothing that the service wrote.
    """

    control: Control
    not_before: datetime | None
    heads: Mapping[DocumentKey, Head]
    sources: Mapping[SourceKey, Source]
    unreadable_heads: frozenset[DocumentKey] = frozenset()
    unreadable_sources: frozenset[SourceKey] = frozenset()
