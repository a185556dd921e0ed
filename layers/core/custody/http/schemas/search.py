"""A question, and the evidence that was found for it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from custody.application.reading.search import (
    MAX_AGE_SECONDS,
    MAX_K,
    MAX_QUERY_CHARACTERS,
    SearchRequest,
    SearchResult,
)
from custody.errors import Unprocessable
from custody.http.schemas.common import Schema, Timestamp
from custody.http.schemas.evidence import (
    EvidenceReply,
    PolicyUseReply,
    evidence_reply,
    policy_use_reply,
)
from custody.http.schemas.filters import FilterClause, search_filter

type RouteName = Literal[
    "auto", "none", "sparse", "dense", "hybrid", "graph", "iterative", "facts", "long_context"
]

type Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
type Names = Annotated[list[Name], Field(min_length=1, max_length=100)]
MAX_FILTER_FIELDS = 10


class AsOf(Schema):
    valid_at: Timestamp | None = None
    known_at: Timestamp | None = None


class SearchBody(Schema):
    """What a search and an answer both take."""

    query: Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS)]
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    route: RouteName = "auto"
    max_steps: Annotated[int, Field(ge=1, le=10)] | None = None
    fusion: Literal["rrf", "linear"] = "rrf"
    rerank: bool | None = None
    trust_domains: Names | None = None
    source_ids: Names | None = None
    filter: Annotated[dict[str, FilterClause], Field(max_length=MAX_FILTER_FIELDS)] | None = None
    as_of: AsOf | None = None
    max_age_seconds: Annotated[int, Field(ge=1, le=MAX_AGE_SECONDS)] | None = None


class SearchPolicyReply(Schema):
    reputation: PolicyUseReply


class SearchReply(Schema):
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


def search_request(body: SearchBody) -> SearchRequest:
    """Raises Unprocessable(not-available | invalid-field)."""
    for name in ("as_of", "max_steps"):
        if getattr(body, name) is not None:
            raise Unprocessable(
                "This deployment does not have this yet.", code="not-available", field=name
            )
    return SearchRequest(
        query=body.query,
        k=body.k,
        route=body.route,
        fusion=body.fusion,
        rerank=body.rerank,
        trust_domains=None if body.trust_domains is None else frozenset(body.trust_domains),
        source_ids=None if body.source_ids is None else frozenset(body.source_ids),
        filter=search_filter(body.filter),
        max_age_seconds=body.max_age_seconds,
    )


def search_reply(result: SearchResult, *, audit: bool) -> SearchReply:
    for_auditors = {"withheld": dict(result.withheld)} if audit else {}
    return SearchReply(
        trace_id=result.trace_id,
        route=result.route,
        route_reason=result.route_reason,
        legs=list(result.legs),
        steps=[],
        results=[
            evidence_reply(item, fusion=result.fusion, audit=audit) for item in result.results
        ],
        degraded=list(result.degraded),
        policy=SearchPolicyReply(reputation=policy_use_reply(result.policy)),
        model_revision=result.model_revision,
        timings_ms=dict(result.timings_ms),
        **for_auditors,
    )
