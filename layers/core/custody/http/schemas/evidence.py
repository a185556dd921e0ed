"""Evidence as a search and an answer tell it.

Its parts are typed dicts: a reply holds up to a hundred items of five parts each, and the whole of
it is validated at once, in a third less time than as many models. A key that only auditors are told
is left out for others.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, cast

from pydantic import Field, with_config

from custody.application.reading.evidence import ClusterMark, Evidence, LegScore, PolicyUse, Scores
from custody.domain.model import Leg
from custody.http.schemas.common import STRICT, Schema, Timestamp


@with_config(STRICT)
class EvidenceLegReply(TypedDict):
    rank: int
    score: NotRequired[Annotated[float, Field(description="Only with the scope custody/audit.")]]


_LegsReply = TypedDict(  # type: ignore[misc]  # its keys are the legs' names
    "_LegsReply", {leg.value: EvidenceLegReply | None for leg in Leg}
)


@with_config(STRICT)
class EvidenceScoresReply(_LegsReply):
    rrf: float | None
    linear: float | None
    normalized: float
    reputation: float
    rerank: float | None
    final: float


@with_config(STRICT)
class EvidenceProvenanceReply(TypedDict):
    outcome: Literal["VERIFIED"]
    statement_id: str
    keyid: str
    sha256: Annotated[str, Field(description="SHA-256 of the chunk's text.")]
    log_index: int | None


@with_config(STRICT)
class EvidenceClusterReply(TypedDict):
    chunk_ids: list[str]
    source_ids: list[str]
    maximum_similarity: float
    cross_source: bool


@with_config(STRICT)
class EvidenceReply(TypedDict):
    rank: int
    chunk_id: str
    tenant: str
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
    scores: EvidenceScoresReply
    provenance: EvidenceProvenanceReply
    signals: list[str]
    cluster: EvidenceClusterReply | None
    observed_at: Timestamp | None
    valid_from: Timestamp | None
    valid_to: Timestamp | None


class PolicyUseReply(Schema):
    version: str
    digest: str


def policy_use_reply(use: PolicyUse) -> PolicyUseReply:
    return PolicyUseReply(version=use.version, digest=use.digest)


def evidence_reply(item: Evidence, *, fusion: str, audit: bool) -> EvidenceReply:
    """One result. Without the audit scope legs tell ranks only."""
    return EvidenceReply(
        rank=item.rank,
        chunk_id=item.chunk_id,
        tenant=item.key.tenant,
        document_id=item.key.document_id,
        version=item.version,
        name=item.name,
        uri=item.uri,
        title=item.title,
        heading=item.heading,
        page=item.page,
        text=item.text,
        source_id=item.source.source_id,
        trust_domain=item.trust_domain,
        score=item.scores.final,
        scores=_scores(item.scores, fusion=fusion, audit=audit),
        provenance=EvidenceProvenanceReply(
            outcome="VERIFIED",
            statement_id=item.statement_id,
            keyid=item.keyid,
            sha256=item.sha256,
            log_index=None,
        ),
        signals=list(item.signals),
        cluster=None if item.cluster is None else _cluster(item.cluster),
        observed_at=item.observed_at,
        valid_from=item.valid_from,
        valid_to=item.valid_to,
    )


def _scores(scores: Scores, *, fusion: str, audit: bool) -> EvidenceScoresReply:
    return EvidenceScoresReply(
        **_legs(scores, audit=audit),
        rrf=scores.fusion if fusion == "rrf" else None,
        linear=scores.fusion if fusion == "linear" else None,
        normalized=scores.normalized,
        reputation=scores.reputation,
        rerank=scores.rerank,
        final=scores.final,
    )


def _legs(scores: Scores, *, audit: bool) -> _LegsReply:
    told = {leg.value: _leg(scores.legs.get(leg), audit=audit) for leg in Leg}
    return cast("_LegsReply", told)


def _leg(score: LegScore | None, *, audit: bool) -> EvidenceLegReply | None:
    if score is None:
        return None
    if audit:
        return EvidenceLegReply(rank=score.rank, score=score.score)
    return EvidenceLegReply(rank=score.rank)


def _cluster(mark: ClusterMark) -> EvidenceClusterReply:
    return EvidenceClusterReply(
        chunk_ids=list(mark.chunk_ids),
        source_ids=list(mark.source_ids),
        maximum_similarity=mark.maximum_similarity,
        cross_source=mark.cross_source,
    )
