"""The JSON of evidence, shared by search and answers, and the fields that both requests have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from custody.application.reading.evidence import Evidence, LegScore, PolicyUse
from custody.application.reading.search import (
    MAX_AGE_SECONDS,
    MAX_K,
    MAX_QUERY_CHARACTERS,
    SearchRequest,
    SearchResult,
)
from custody.domain.index.candidates import FilterClause, Range
from custody.domain.index.metadata_match import conditions
from custody.domain.intake import validation
from custody.domain.model import Leg, MetadataValue
from custody.domain.timestamps import format_rfc3339
from custody.errors import Unprocessable
from custody.http.body import Body, Timestamp

type Scalar = str | bool | int | float


class RangeClause(Body):
    gte: str | float | int | None = None
    lte: str | float | int | None = None


type Clause = Scalar | Annotated[list[Scalar], Field(min_length=1, max_length=100)] | RangeClause


class AsOf(Body):
    valid_at: Timestamp | None = None
    known_at: Timestamp | None = None


type RouteName = Literal[
    "auto", "none", "sparse", "dense", "hybrid", "graph", "iterative", "facts", "long_context"
]


class SearchFields(Body):
    """What a search and an answer both take."""

    query: Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS)]
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    route: RouteName = "auto"
    max_steps: Annotated[int, Field(ge=1, le=10)] | None = None
    fusion: Literal["rrf", "linear"] = "rrf"
    rerank: bool | None = None
    trust_domains: Annotated[list[str], Field(min_length=1, max_length=100)] | None = None
    source_ids: Annotated[list[str], Field(min_length=1, max_length=100)] | None = None
    filter: Annotated[dict[str, Clause], Field(max_length=20)] | None = None
    as_of: AsOf | None = None
    max_age_seconds: Annotated[int, Field(ge=1, le=MAX_AGE_SECONDS)] | None = None


class LegReply(Body):
    rank: int
    score: float | None = Field(None, description="Only with the scope custody/audit.")


class ScoresReply(Body):
    semantic: LegReply | None
    lexical: LegReply | None
    rrf: float | None
    linear: float | None
    normalized: float
    reputation: float
    rerank: float | None
    final: float


class ProvenanceReply(Body):
    outcome: Literal["VERIFIED"]
    statement_id: str
    keyid: str
    sha256: str = Field(description="SHA-256 of the chunk's text.")
    log_index: int | None


class ClusterReply(Body):
    chunk_ids: list[str]
    source_ids: list[str]
    maximum_similarity: float
    cross_source: bool


class EvidenceReply(Body):
    rank: int
    chunk_id: str
    document_id: str
    version: int
    name: str
    uri: str | None
    title: str | None
    heading: str | None
    page: int | None
    text: str
    source_id: str
    trust_domain: str
    score: float
    scores: ScoresReply
    provenance: ProvenanceReply
    signals: list[str]
    cluster: ClusterReply | None
    observed_at: Timestamp | None
    valid_from: Timestamp | None
    valid_to: Timestamp | None


class PolicyReply(Body):
    version: str
    digest: str


def search_filter(given: Mapping[str, Clause] | None) -> dict[str, FilterClause]:
    """Clauses as the index takes them. Raises Unprocessable(invalid-field | unknown-field)."""
    found = {
        validation.filter_name(name): _clause(clause) for name, clause in (given or {}).items()
    }
    conditions(found)  # a range that can't bind is refused before anything is asked
    return found


def _clause(clause: Clause) -> FilterClause:
    if isinstance(clause, list):
        values: tuple[MetadataValue, ...] = tuple(clause)
        return values
    if isinstance(clause, RangeClause):
        return Range(gte=clause.gte, lte=clause.lte)
    return clause


def told_filter(held: Mapping[str, FilterClause]) -> dict[str, Clause]:
    """Clauses as a request gives them: the reverse of ``search_filter``."""
    return {name: _told(clause) for name, clause in held.items()}


def _told(clause: FilterClause) -> Clause:
    if isinstance(clause, Range):
        bounds = {"gte": clause.gte, "lte": clause.lte}
        return RangeClause(**{name: bound for name, bound in bounds.items() if bound is not None})
    if isinstance(clause, tuple):
        return [
            one for value in clause for one in (value if isinstance(value, tuple) else (value,))
        ]
    return clause


def evidence_json(item: Evidence, *, fusion: str, audit: bool) -> dict[str, object]:
    """One result. Without the audit scope legs tell ranks only."""
    scores = item.scores
    return {
        "rank": item.rank,
        "chunk_id": item.chunk_id,
        "document_id": item.key.document_id,
        "version": item.version,
        "name": item.name,
        "uri": item.uri,
        "title": item.title,
        "heading": item.heading,
        "page": item.page,
        "text": item.text,
        "source_id": item.source.source_id,
        "trust_domain": item.trust_domain,
        "score": scores.final,
        "scores": {
            **{leg.value: _leg(scores.legs.get(leg), audit=audit) for leg in Leg},
            "rrf": scores.fusion if fusion == "rrf" else None,
            "linear": scores.fusion if fusion == "linear" else None,
            "normalized": scores.normalized,
            "reputation": scores.reputation,
            "rerank": scores.rerank,
            "final": scores.final,
        },
        "provenance": {
            "outcome": "VERIFIED",
            "statement_id": item.statement_id,
            "keyid": item.keyid,
            "sha256": item.sha256,
            "log_index": None,
        },
        "signals": list(item.signals),
        "cluster": None
        if item.cluster is None
        else {
            "chunk_ids": list(item.cluster.chunk_ids),
            "source_ids": list(item.cluster.source_ids),
            "maximum_similarity": item.cluster.maximum_similarity,
            "cross_source": item.cluster.cross_source,
        },
        "observed_at": format_rfc3339(item.observed_at) if item.observed_at else None,
        "valid_from": format_rfc3339(item.valid_from) if item.valid_from else None,
        "valid_to": format_rfc3339(item.valid_to) if item.valid_to else None,
    }


def _leg(score: LegScore | None, *, audit: bool) -> dict[str, object] | None:
    if score is None:
        return None
    return {"rank": score.rank, "score": score.score} if audit else {"rank": score.rank}


class SearchPolicyReply(Body):
    reputation: PolicyReply


class SearchReply(Body):
    trace_id: str
    route: str
    route_reason: str
    legs: list[str]
    steps: list[dict[str, str]]
    results: list[EvidenceReply]
    degraded: list[str]
    policy: SearchPolicyReply
    model_revision: str | None
    timings_ms: dict[str, float]
    withheld: dict[str, int] | None = Field(
        None, description="Reason to number of candidates. Only with the scope custody/audit."
    )


def search_request(fields: SearchFields) -> SearchRequest:
    """Raises Unprocessable(not-available | invalid-field)."""
    for name in ("as_of", "max_steps"):
        if getattr(fields, name) is not None:
            raise Unprocessable(
                "This deployment does not have this yet.", code="not-available", field=name
            )
    return SearchRequest(
        query=fields.query,
        k=fields.k,
        route=fields.route,
        fusion=fields.fusion,
        rerank=fields.rerank,
        trust_domains=None if fields.trust_domains is None else frozenset(fields.trust_domains),
        source_ids=None if fields.source_ids is None else frozenset(fields.source_ids),
        filter=search_filter(fields.filter),
        max_age_seconds=fields.max_age_seconds,
    )


def policy_json(use: PolicyUse) -> dict[str, object]:
    return {"version": use.version, "digest": use.digest}


def search_json(result: SearchResult, *, audit: bool) -> dict[str, object]:
    reply: dict[str, object] = {
        "trace_id": result.trace_id,
        "route": result.route,
        "route_reason": result.route_reason,
        "legs": list(result.legs),
        "steps": [],
        "results": [
            evidence_json(item, fusion=result.fusion, audit=audit) for item in result.results
        ],
        "degraded": list(result.degraded),
        "policy": {"reputation": policy_json(result.policy)},
        "model_revision": result.model_revision,
        "timings_ms": dict(result.timings_ms),
    }
    if audit:
        reply["withheld"] = dict(result.withheld)
    return reply
