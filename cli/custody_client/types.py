"""The replies of the HTTP contract, as typed dictionaries.

They are what the service sent: fields that a later version adds stay in them. Times are RFC 3339
strings in UTC, digests lower-case hex SHA-256.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

type RouteAsked = Literal[
    "auto", "none", "sparse", "dense", "hybrid", "graph", "iterative", "facts", "long_context"
]
type Fusion = Literal["rrf", "linear"]
type Preset = Literal["strict", "balanced", "lenient"]
type MetadataValue = str | int | float | bool | list[str]
type Scalar = str | int | float | bool
type FilterValue = Scalar | list[Scalar] | dict[str, str | int | float]


class AllowDict(TypedDict):
    allow: list[str]


class Source(TypedDict):
    source_id: str
    trust_domain: str
    writers: list[str]
    default_acl: NotRequired[AllowDict | None]
    max_acl: NotRequired[AllowDict | None]
    sidecar: NotRequired[str]
    isolation: NotRequired[str]
    mirror_deletes: NotRequired[bool]
    classification: NotRequired[str | None]
    licence: NotRequired[str | None]
    legal_basis: NotRequired[str | None]
    retention_class: NotRequired[str | None]
    state: NotRequired[str]
    revision: NotRequired[int]
    prefix: str
    created_at: str | None
    updated_at: str | None


class SourcePage(TypedDict):
    sources: list[Source]
    next: NotRequired[str | None]


class Key(TypedDict):
    """``public_key_pem``: SubjectPublicKeyInfo; ``keyid`` is the SHA-256 of its DER."""

    keyid: str
    purpose: str
    state: str
    not_before: str
    not_after: str | None
    public_key_pem: str


class KeyList(TypedDict):
    keys: list[Key]


class Cut(TypedDict):
    """``not_before``: what holds; a later cut than the one that was asked for stays."""

    subject: str
    not_before: str


class SignedPolicy(TypedDict):
    """``scope``: tenant for one of the tenant's own, service for the default. ``since`` None: it is
    not in force by this reply, or nobody told since when. ``envelope``: DSSE, as in Provenance."""

    name: str
    version: str
    digest: str
    scope: str
    keyid: str
    since: str | None
    document: dict[str, object]
    envelope: dict[str, object]


class PolicyChange(TypedDict):
    """``version`` and ``digest`` None: the tenant went by the service's default again."""

    action: str
    version: str | None
    digest: str | None
    at: str
    by: str | None


class PolicyHistory(TypedDict):
    """Newest first."""

    name: str
    changes: list[PolicyChange]


class Inspection(TypedDict):
    content_hash: str
    signals: list[str]
    suspicious: bool
    active_content_removed: bool


class PutDocumentResult(TypedDict):
    """``state`` PENDING: accepted (202), not published yet."""

    document_id: str
    version: int
    state: str
    content_sha256: NotRequired[str | None]
    chunk_count: NotRequired[int]
    chunk_root: NotRequired[str | None]
    statement_id: NotRequired[str | None]
    keyid: NotRequired[str | None]
    inspection: NotRequired[Inspection | None]
    unchanged: NotRequired[bool]


class Version(TypedDict):
    version: int
    state: str
    content_sha256: NotRequired[str | None]
    reasons: NotRequired[list[str]]
    content_type: str
    chunk_count: int
    statement_id: str | None
    connector: str
    inspection: Inspection | None
    accepted_at: str | None
    published_at: str | None
    expired_at: str | None


class Document(TypedDict):
    tenant: str
    document_id: str
    source_id: str
    version: int
    state: str
    name: NotRequired[str]
    title: NotRequired[str | None]
    acl: NotRequired[AllowDict | list[str]]
    content_sha256: NotRequired[str | None]
    chunk_count: NotRequired[int]
    statement_id: NotRequired[str | None]
    versions: NotRequired[list[Version]]
    accepted_version: int
    revision: int
    uri: str | None
    pending_acl: AllowDict | None
    acl_revision: int
    chunk_root: str | None
    keyid: str | None
    observed_at: str | None
    valid_from: str | None
    valid_to: str | None
    recorded_at: str | None
    erasure_id: str | None
    withheld: NotRequired[str | None]
    more_versions: NotRequired[bool]


class DocumentPage(TypedDict):
    documents: list[Document]
    next: NotRequired[str | None]


class Provenance(TypedDict):
    """``envelope``: DSSE (payloadType, payload in base64, signatures)."""

    tenant: str
    document_id: str
    version: int
    envelope: dict[str, object]
    state: str
    log: None


class PastSource(TypedDict):
    source_id: str
    state: str
    trust_domain: str
    max_acl: AllowDict | None
    since: str


class PastAccess(TypedDict):
    """``version`` None: nothing was live. ``until`` None: it holds still."""

    document_id: str
    at: str
    version: int | None
    acl: AllowDict | None
    narrowed_to: AllowDict | None
    acl_revision: int | None
    statement_id: str | None
    changed_by: str | None
    since: str | None
    until: str | None
    source: PastSource | None


class IndexBuild(TypedDict):
    """One index of the tenant: being built, served, retiring or given up. ``step`` while it is being
    built; ``envelope``: its signed statement, in DSSE."""

    build_id: str
    space: str
    state: str
    step: str | None
    index: str | None
    model: str | None
    model_revision: str | None
    former_revision: str | None
    mapping_version: str | None
    analysis_version: str | None
    versions: int
    chunks: int
    read: int | None
    written: int
    passes: int
    reason: str | None
    snapshot: str | None
    statement_id: str | None
    envelope: dict[str, object] | None
    requested_by: str
    requested_at: str
    updated_at: str | None
    served_at: str | None
    retire_at: str | None


class IndexBuilds(TypedDict):
    indices: list[IndexBuild]


class AclResult(TypedDict):
    document_id: str
    version: int
    acl: AllowDict
    acl_revision: int
    state: str


class ErasureAccepted(TypedDict):
    erasure_id: str


class Artifact(TypedDict):
    location: str
    level: str
    verified_at: NotRequired[str | None]
    detail: NotRequired[str | None]


class Erasure(TypedDict):
    erasure_id: str
    state: str
    document_id: NotRequired[str]
    artifacts: list[Artifact]
    through_version: int
    reason: str
    requested_by: str
    requested_at: str
    completed_at: str | None


class UploadTicket(TypedDict):
    """A presigned PUT. Send exactly ``headers`` with it."""

    url: str
    headers: NotRequired[dict[str, str]]
    expires_at: NotRequired[str]
    name: NotRequired[str]
    document_id: NotRequired[str]
    method: str


class Drop(TypedDict):
    source_id: str
    name: str
    state: str
    document_id: NotRequired[str]
    version: NotRequired[int]
    reasons: NotRequired[list[str]]
    object_version: NotRequired[str | None]
    updated_at: str | None


class DropList(TypedDict):
    drops: list[Drop]


class LegScore(TypedDict):
    rank: int
    score: NotRequired[float | None]


class Scores(TypedDict):
    semantic: LegScore | None
    lexical: LegScore | None
    rrf: float | None
    normalized: float | None
    reputation: float | None
    rerank: float | None
    final: float
    linear: float | None


class EvidenceProvenance(TypedDict):
    """``sha256`` is the digest of the chunk's text."""

    outcome: str
    statement_id: str
    keyid: str
    sha256: str
    log_index: NotRequired[int | None]


class Cluster(TypedDict):
    chunk_ids: list[str]
    source_ids: list[str]
    maximum_similarity: float
    cross_source: bool


class Evidence(TypedDict):
    rank: int
    chunk_id: str
    tenant: str
    document_id: str
    version: int
    name: str
    uri: NotRequired[str | None]
    title: str | None
    heading: str | None
    page: int | None
    text: str
    source_id: str
    trust_domain: str
    score: float
    scores: Scores
    provenance: EvidenceProvenance
    signals: NotRequired[list[str]]
    cluster: NotRequired[Cluster | None]
    observed_at: NotRequired[str | None]
    valid_from: NotRequired[str | None]
    valid_to: NotRequired[str | None]


class SearchResult(TypedDict):
    """``withheld`` is there for callers with the audit scope only."""

    trace_id: str
    route: str
    route_reason: str
    results: list[Evidence]
    degraded: list[str]
    model_revision: NotRequired[str | None]
    policy: NotRequired[dict[str, object]]
    timings_ms: NotRequired[dict[str, float]]
    withheld: NotRequired[dict[str, int]]
    legs: list[str]
    steps: list[dict[str, str]]


class GateReport(TypedDict):
    score: float
    threshold: float
    preset: str | None
    features: dict[str, float]
    floors: dict[str, float]
    reasons: list[str]
    explanation: str
    overridden: bool


class AnswerAttempt(TypedDict):
    query: str
    added_terms: list[str]
    score: float
    gain: float | None
    stop_reason: str | None


class Answer(TypedDict):
    """``verdict``: answerable, insufficient or needs_review."""

    answer_id: str
    verdict: str
    route: str
    route_reason: NotRequired[str]
    retries: int
    gate: GateReport
    attempts: list[AnswerAttempt]
    evidence: list[Evidence]
    envelope: NotRequired[str | None]
    generation: NotRequired[dict[str, object] | None]
    degraded: NotRequired[list[str]]
    model_revision: NotRequired[str | None]
    policy: NotRequired[dict[str, object]]
    timings_ms: NotRequired[dict[str, float]]
    withheld: NotRequired[dict[str, int]]


class StoredEvidence(TypedDict):
    """``available`` False: it may no longer be shown to this reader, and has no text."""

    rank: int
    chunk_id: str
    tenant: str
    document_id: str
    version: int
    source_id: str
    sha256: str
    available: bool
    name: str | None
    title: str | None
    text: str | None
    statement_id: str
    keyid: str
    heading: str | None
    page: int | None
    withheld: NotRequired[str | None]


class StoredRequest(TypedDict):
    """What was asked and how it was taken. ``filter`` as a search takes it."""

    query: str
    query_sha256: str
    k: int
    route: str
    route_asked: str
    route_reason: str
    legs: list[str]
    depth: int
    fusion: str
    rerank: bool | None
    trust_domains: list[str] | None
    source_ids: list[str] | None
    filter_fields: list[str]
    filter: dict[str, FilterValue]
    max_age_seconds: int | None
    valid_at: str
    degraded: list[str]
    model_revision: str | None
    preset: str | None
    threshold: float | None
    gate_override: bool


class Policy(TypedDict):
    version: str
    digest: str


class ReputationPolicy(TypedDict):
    reputation: Policy


class StoredRetrieval(TypedDict):
    """``outcomes`` and ``withheld`` are there for callers with the audit scope only."""

    policy: ReputationPolicy
    epoch: int
    ranker: str
    weights: dict[str, float]
    refetched: bool
    outcomes: NotRequired[dict[str, int]]
    withheld: NotRequired[dict[str, int]]


class StoredGate(TypedDict):
    verdict: str
    score: float
    threshold: float
    preset: str | None
    top_floor: float
    coverage_floor: float
    top: float
    coverage: float
    margin: float
    support: float
    reasons: list[str]
    explanation: str
    overridden: bool
    policy: Policy


class StoredAttempt(TypedDict):
    """``added_terms``: None in place of a word that may no longer be shown to this reader."""

    added_terms: list[str | None]
    score: float
    gain: float | None
    stop_reason: str | None


class StoredAnswer(TypedDict):
    answer_id: str
    subject: str
    recorded_at: str
    request: StoredRequest
    retrieval: StoredRetrieval
    gate: StoredGate
    attempts: list[StoredAttempt]
    evidence: list[StoredEvidence]
    timings_ms: NotRequired[dict[str, float]]


class Health(TypedDict):
    """``status`` and each dependency: ok or unavailable."""

    status: str
    dependencies: NotRequired[dict[str, str]]
    checked_at: NotRequired[str]


class SearchFields(TypedDict, total=False):
    """What narrows a search. Left out: the service's own default."""

    k: int
    route: RouteAsked
    fusion: Fusion
    rerank: bool
    trust_domains: list[str]
    source_ids: list[str]
    filter: dict[str, FilterValue]
    max_age_seconds: int
    max_steps: int
    as_of: dict[str, str]


class AnswerFields(SearchFields, total=False):
    """``threshold`` in place of a preset; ``gate_override`` needs the scope custody/override."""

    preset: Preset
    threshold: float
    gate_override: bool
    generate: bool
