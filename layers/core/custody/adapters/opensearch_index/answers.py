"""What OpenSearch's answers mean. Whatever is not a whole answer is Unavailable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from custody.domain.index.candidates import Hit, IndexEntry
from custody.domain.index.document import decode
from custody.errors import CustodyError, IntegrityError, Unavailable

_REFUSED_FOR_GOOD = frozenset(
    {"mapper_parsing_exception", "strict_dynamic_mapping_exception", "illegal_argument_exception"}
)


def unavailable(detail: str) -> Unavailable:
    return Unavailable(f"The index can't answer: {detail}.", code="index-unavailable")


NO_SPACE: Mapping[str, Any] = {"hits": {"hits": [], "total": {"value": 0}}}


def parts(response: object, expected: int) -> list[Mapping[str, Any]]:
    """The searches of a multi-search, each yet to be looked at."""
    found = response.get("responses") if isinstance(response, Mapping) else None
    if not isinstance(found, list) or len(found) != expected:
        raise unavailable("it did not answer every leg")
    if not all(isinstance(part, Mapping) for part in found):
        raise unavailable("the answer is none of a search")
    return found


def whole_or_no_space(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """``NO_SPACE`` where there is no such index; a closed one is an error."""
    error = part.get("error")
    if isinstance(error, Mapping) and error.get("type") == "index_not_found_exception":
        return NO_SPACE
    return whole(part)


def is_nowhere(part: Mapping[str, Any]) -> bool:
    """Whether a probe met no index. One that failed met some: such that are being made or dropped
    may have no shard for a moment, and are nothing to whom doesn't search them."""
    shards = part.get("_shards")
    return "error" not in part and isinstance(shards, Mapping) and not shards.get("total")


def whole(answer: object) -> Mapping[str, Any]:
    """``answer`` if it comes from all shards in time. Raises Unavailable."""
    if not isinstance(answer, Mapping) or "error" in answer:
        raise unavailable("a search failed")
    shards = answer.get("_shards")
    if not isinstance(shards, Mapping) or not isinstance(answer.get("hits"), Mapping):
        raise unavailable("the answer is none of a search")
    if answer.get("timed_out") is not False:
        raise unavailable("a search ran out of time")
    if shards.get("failed") or shards.get("successful") != shards.get("total"):
        raise unavailable("only a part of the shards answered")
    return answer


def total(answer: Mapping[str, Any]) -> int:
    """Of a search that counts its hits."""
    try:
        counted: int = answer["hits"]["total"]["value"]
    except (KeyError, TypeError) as fault:
        raise unavailable("a search didn't count") from fault
    return counted


def buckets(answer: Mapping[str, Any], name: str) -> dict[str, int]:
    """Documents of each value."""
    try:
        return {
            bucket["key"]: bucket["doc_count"] for bucket in answer["aggregations"][name]["buckets"]
        }
    except (KeyError, TypeError) as fault:
        raise unavailable("the answer counts nothing") from fault


def hits(answer: Mapping[str, Any], *, cosine: bool) -> tuple[list[Hit], int]:
    """Proposals in the node's order, and how many hits are none of Custody's entries, or one that
    lies under another's id. A score is a float of single precision, written short; that of a
    cosine is 1 + (1 + cos) / 2, as the queries make it."""
    try:
        found = answer["hits"]["hits"]
        scores = np.array([hit["sort"][0] for hit in found], dtype=np.float32).astype(np.float64)
    except (KeyError, TypeError, ValueError, IndexError) as fault:
        raise unavailable("the answer is none of a search") from fault
    kept = (2.0 * scores - 3.0 if cosine else scores).tolist()
    read: list[Hit] = []
    unreadable = 0
    for hit, score in zip(found, kept, strict=True):
        entry = _entry(hit)
        if entry is None or not isfinite(score):
            unreadable += 1
        elif cosine or score > 0:
            read.append(Hit(entry, score))
    return read, unreadable


def entries(answer: Mapping[str, Any]) -> list[IndexEntry]:
    """Of hits without scores, those that are entries."""
    return [entry for hit in answer["hits"]["hits"] if (entry := _entry(hit)) is not None]


def _entry(hit: Mapping[str, Any]) -> IndexEntry | None:
    try:
        entry = decode(hit["_source"])
        return entry if hit["_id"] == entry.chunk_id else None
    except (KeyError, TypeError, ValueError):
        return None


def check_bulk(response: Mapping[str, Any], expected: int) -> None:
    """Every item was written, or an error: Unavailable where a repeat may help."""
    items = response.get("items")
    if not isinstance(items, Sequence) or len(items) != expected:
        raise unavailable("it did not answer for every chunk")
    failed = [item["index"] for item in items if item["index"].get("status", 500) >= 300]
    if failed:
        raise _write_fault(failed[0], len(failed))


def bulk_found_no_index(response: Mapping[str, Any]) -> bool:
    items = response.get("items")
    return isinstance(items, Sequence) and any(
        isinstance(error := item["index"].get("error"), Mapping)
        and error.get("type") == "index_not_found_exception"
        for item in items
    )


def version_counts(
    answer: Mapping[str, Any],
) -> tuple[list[tuple[str, int, int]], dict[str, Any] | None]:
    """(document, version, chunks) of a page, and where the next one begins."""
    try:
        found = answer["aggregations"]["versions"]
        page = [
            (bucket["key"]["document"], bucket["key"]["version"], bucket["doc_count"])
            for bucket in found["buckets"]
        ]
    except (KeyError, TypeError) as fault:
        raise unavailable("a search didn't count") from fault
    return page, found.get("after_key") if page else None


def _write_fault(item: Mapping[str, Any], count: int) -> CustodyError:
    error = item.get("error")
    kind = error.get("type", "unknown") if isinstance(error, Mapping) else "unknown"
    if item.get("status") == 400 and kind in _REFUSED_FOR_GOOD:
        return IntegrityError(
            f"The index refuses {count} chunks ({kind}).", code="index-entry-refused"
        )
    return unavailable(f"it refused {count} chunks ({kind})")


def by_query_conflicts(response: Mapping[str, Any]) -> int:
    """Version conflicts of an update or delete by query. Raises Unavailable on other failures."""
    if response.get("timed_out") is not False or not isinstance(
        response.get("version_conflicts"), int
    ):
        raise unavailable("an update ran out of time")
    failures = response.get("failures") or []
    if any(failure.get("status") != 409 for failure in failures):
        raise unavailable("it refused a part of an update")
    conflicts: int = response["version_conflicts"]
    return conflicts
