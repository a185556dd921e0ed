"""What is asked of OpenSearch. Filters and terms are structures; no text is ever parsed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from custody.adapters.opensearch_index.mapping import (
    CROWDED,
    INDEX_ONLY_FIELDS,
    LIKENESS,
    SEARCHED,
    VECTOR,
)
from custody.domain.index.candidates import SearchFilter, Vector
from custody.domain.index.metadata_match import (
    AnyTag,
    Between,
    conditions,
    microseconds,
    tag_prefix,
)
from custody.domain.model import DocumentKey

type Clause = dict[str, Any]

_SOURCE = {"excludes": list(INDEX_ONLY_FIELDS)}
# Equal scores are ordered by chunk id on the node, so that the cut at the depth is stable too.
_ORDER: list[Clause] = [{"_score": "desc"}, {"chunk_id": "asc"}]
_WIDENING = 2
_LEAST_NEIGHBOURS = 192


def filter_clauses(wanted: SearchFilter) -> list[Clause]:
    at = microseconds(wanted.valid_at)
    clauses: list[Clause] = [
        {"terms": {"acl": sorted(wanted.acl_terms)}},
        {"range": {"valid_from": {"lte": at}}},
        {"range": {"valid_to": {"gt": at}}},
    ]
    if wanted.source_ids is not None:
        clauses.append({"terms": {"source_id": sorted(wanted.source_ids)}})
    if wanted.trust_domains is not None:
        clauses.append({"terms": {"trust_domain": sorted(wanted.trust_domains)}})
    if wanted.observed_since is not None:
        clauses.append({"range": {"observed_at": {"gte": microseconds(wanted.observed_since)}}})
    if wanted.recorded_at is not None:
        then = microseconds(wanted.recorded_at)
        clauses.append({"range": {"recorded_from": {"lte": then}}})
        clauses.append({"range": {"recorded_through": {"gt": then}}})
    clauses.extend(_metadata(condition) for condition in conditions(wanted.metadata))
    clauses.extend(_without("document_id", wanted.without_documents))
    clauses.extend(_without("source_id", wanted.without_sources))
    if wanted.carries is not None:
        clauses.append({"prefix": {"tags": {"value": tag_prefix(wanted.carries)}}})
    return clauses


def _without(field: str, keys: Collection[tuple[str, str]]) -> Iterator[Clause]:
    """An id is one of its tenant: several tenants' indices are asked together."""
    by_tenant: defaultdict[str, list[str]] = defaultdict(list)
    for tenant, name in sorted(keys):
        by_tenant[tenant].append(name)
    for tenant, names in by_tenant.items():
        both = [{"term": {"tenant": tenant}}, {"terms": {field: names}}]
        yield {"bool": {"must_not": [{"bool": {"filter": both}}]}}


def _metadata(condition: AnyTag | Between) -> Clause:
    if isinstance(condition, AnyTag):
        return {"terms": {"tags": list(condition.tags)}}
    bounds = {"gte": condition.gte, "lte": condition.lte}
    within = {name: bound for name, bound in bounds.items() if bound is not None}
    both = [
        {"term": {"ordered.key": condition.key}},
        {"range": {f"ordered.{condition.unit}": within}},
    ]
    return {"nested": {"path": "ordered", "query": {"bool": {"filter": both}}}}


def lexical_body(
    terms: dict[str, int], filters: Sequence[Clause], *, depth: int, timeout: str
) -> Clause:
    """Any of ``terms``, each weighed by how often it is asked for."""
    any_of = [{"term": {SEARCHED: {"value": term, "boost": n}}} for term, n in terms.items()]
    return _search(
        {"bool": {"filter": list(filters), "should": any_of, "minimum_should_match": 1}},
        depth=depth,
        timeout=timeout,
    )


def semantic_body(vector: Vector, filters: Sequence[Clause], *, depth: int, timeout: str) -> Clause:
    """More neighbours than ``depth`` are gathered, for recall and for ties at the cut; where the
    filter leaves no more than that many, the engine compares them all, exactly. What is kept out of
    the graph is compared beside it. Scores are 1 + (1 + cos) / 2."""
    neighbours = max(depth * _WIDENING, _LEAST_NEIGHBOURS)
    knn = {
        "vector": vector.tolist(),
        "k": neighbours,
        "filter": {"bool": {"filter": list(filters)}},
    }
    # The vectors there end with a 1, so that the inner product is (1 + cos) / 2: of what is not
    # negative the plugin makes a score by adding 1. Comparing this way costs the least.
    crowded = _compared(
        CROWDED,
        [{"exists": {"field": CROWDED}}, *filters],
        [*(vector / 2).tolist(), 0.5],
        "innerproduct",
    )
    either: Clause = {"bool": {"should": [_and_one({"knn": {VECTOR: knn}}), crowded]}}
    return _search(either, depth=depth, timeout=timeout)


def exact_body(vector: Vector, filters: Sequence[Clause], *, depth: int, timeout: str) -> Clause:
    """Every vector that the filter leaves, compared one by one, on the same scale: of unchanged
    chunks of many versions most are equal."""
    every = _compared(VECTOR, filters, vector.tolist(), "cosinesimil")
    return _search(_and_one(every), depth=depth, timeout=timeout)


def _compared(field: str, filters: Sequence[Clause], query: list[float], space_type: str) -> Clause:
    script = {
        "lang": "knn",
        "source": "knn_score",
        "params": {"field": field, "query_value": query, "space_type": space_type},
    }
    return {"script_score": {"query": {"bool": {"filter": list(filters)}}, "script": script}}


def _and_one(clause: Clause) -> Clause:
    """With 1 added to its scores."""
    return {"bool": {"must": [clause, {"match_all": {}}]}}


def likeness_counts(likenesses: Sequence[str], chunk_ids: Sequence[str], *, timeout: str) -> Clause:
    """Of each likeness, how many are in the graph, without those of ``chunk_ids``."""
    return {
        "size": 0,
        "query": {
            "bool": {
                "filter": [{"terms": {LIKENESS: list(likenesses)}}],
                "must_not": [{"ids": {"values": list(chunk_ids)}}],
            }
        },
        "aggs": {LIKENESS: {"terms": {"field": LIKENESS, "size": len(likenesses)}}},
        "track_total_hits": False,
        "timeout": timeout,
    }


def _search(query: Clause, *, depth: int, timeout: str) -> Clause:
    return {
        "size": depth,
        "query": query,
        "sort": _ORDER,
        "_source": _SOURCE,
        "track_total_hits": False,
        "timeout": timeout,
    }


def sample_body(filters: Sequence[Clause], *, size: int, timeout: str) -> Clause:
    return {
        "size": size,
        "query": {"bool": {"filter": list(filters)}},
        "sort": ["_doc"],
        "_source": _SOURCE,
        "track_total_hits": False,
        "timeout": timeout,
    }


PROBE: Clause = {"size": 0, "query": {"match_none": {}}, "track_total_hits": False}


def every_header(pattern: str) -> Clause:
    """Of a probe for any index of a space, a closed one included."""
    return {
        "index": [pattern],
        "expand_wildcards": "open,closed",
        "allow_no_indices": True,
        "allow_partial_search_results": False,
    }


def header(aliases: Sequence[str], *, lexical: bool = False) -> Clause:
    """A line of msearch before its body. One alias must be there. Of several, some may not, and
    a closed index can't be told from a missing one then: each gets a probe of its own beside.
    Global term statistics only matter to the lexical leg."""
    line: Clause = {
        "index": list(aliases),
        "ignore_unavailable": len(aliases) > 1,
        "allow_no_indices": True,
        "allow_partial_search_results": False,
    }
    if lexical:
        line["search_type"] = "dfs_query_then_fetch"
    return line


def version_counts(keys: Collection[DocumentKey], *, after: Clause | None, timeout: str) -> Clause:
    """Chunks a version of these documents, in pages."""
    pages: Clause = {
        "size": 1_000,
        "sources": [
            {"document": {"terms": {"field": "document_id"}}},
            {"version": {"terms": {"field": "version"}}},
        ],
    }
    if after is not None:
        pages["after"] = after
    return {
        "size": 0,
        "query": {"terms": {"document_id": sorted(key.document_id for key in keys)}},
        "aggs": {"versions": {"composite": pages}},
        "track_total_hits": False,
        "timeout": timeout,
    }


def document_query(
    key: DocumentKey, *, version: int | None = None, through: int | None = None
) -> Clause:
    filters: list[Clause] = [{"term": {"document_id": key.document_id}}]
    if version is not None:
        filters.append({"term": {"version": version}})
    if through is not None:
        filters.append({"range": {"version": {"lte": through}}})
    return {"bool": {"filter": filters}}
