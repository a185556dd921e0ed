"""From ranked candidates to evidence: authorized once more, cut to k, near-duplicates marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from custody.application.reading.evidence import ClusterMark, Evidence
from custody.application.reading.plan import Plan
from custody.application.reading.ranking import Ranked
from custody.domain.ledger import access
from custody.domain.model import LedgerView, Principal
from custody.domain.ranking.reputation import lineage_id
from custody.domain.text.duplicates import Item, near_duplicate_clusters


def assemble(
    ranked: Sequence[Ranked],
    plan: Plan,
    principal: Principal,
    view: LedgerView,
) -> tuple[Evidence, ...]:
    """The first ``plan.k`` that this principal may read by the ledger's word. This is the second
    authorization, after the last reordering and after retries have merged: it looks at the heads
    and sources of ``view``, not at what an earlier step remembered of them."""
    allowed = access.narrowed(view.control.trust_domains, plan.trust_domains)
    terms = principal.terms
    chosen: list[Ranked] = []
    for item in ranked:
        if len(chosen) == plan.k:
            break
        head = view.heads.get(item.verified.head.key)
        if head is None or head.version != item.verified.entry.version:
            continue
        source = view.sources.get(item.verified.source.key)
        if access.authorize(principal, head, source, allowed, terms) is access.ALLOWED:
            chosen.append(item)
    marks = _marks(chosen)
    return tuple(
        _evidence(rank, item, marks.get(item.chunk_id)) for rank, item in enumerate(chosen, 1)
    )


def _marks(chosen: Sequence[Ranked]) -> Mapping[str, ClusterMark]:
    clusters = near_duplicate_clusters(
        [
            Item(item.chunk_id, lineage_id(item.verified.source.key), item.verified.entry.text)
            for item in chosen
        ]
    )
    return {
        chunk_id: ClusterMark(
            chunk_ids=cluster.chunk_ids,
            source_ids=cluster.source_ids,
            maximum_similarity=cluster.maximum_similarity,
            cross_source=cluster.cross_source,
        )
        for cluster in clusters
        for chunk_id in cluster.chunk_ids
    }


def _evidence(rank: int, item: Ranked, mark: ClusterMark | None) -> Evidence:
    entry, head, source = item.verified.entry, item.verified.head, item.verified.source
    return Evidence(
        rank=rank,
        chunk_id=entry.chunk_id,
        key=head.key,
        version=head.version,
        ordinal=entry.ordinal,
        name=head.name,
        uri=head.uri,
        title=entry.title,
        heading=entry.heading,
        page=entry.page,
        text=entry.text,
        source=source.key,
        trust_domain=source.trust_domain,
        scores=item.scores,
        statement_id=item.verified.statement_id,
        keyid=item.verified.keyid,
        sha256=item.verified.sha256,
        signals=item.verified.statement.signals,
        cluster=mark,
        observed_at=head.observed_at,
        valid_from=head.valid_from,
        valid_to=head.valid_to,
    )
