"""Settings and mapping of one index.

An index carries its model revision, dimensions, mapping and analysis version in ``_meta``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from custody.domain.index.candidates import IndexEntry, Vector
from custody.domain.index.document import encode
from custody.domain.index.metadata_match import ordered_values, tags
from custody.domain.text.analysis import ANALYSIS_VERSION, ANALYZER

MAPPING_VERSION = "3"
WRITABLE_MAPPINGS = frozenset({MAPPING_VERSION})
SEARCHED = "searched"
VECTOR = "vector"
LIKENESS = "likeness"  # of what is in the graph
CROWDED = "crowded"  # the vector of what is not, since others are like it, and one component more
INDEX_ONLY_FIELDS = (VECTOR, CROWDED, LIKENESS, "tags", "ordered")

_STORED = {"type": "keyword", "index": False, "doc_values": False}
_SEARCHED_TEXT = {"type": "text", "index": False, "copy_to": SEARCHED}
_KEYWORD = {"type": "keyword"}
_LONG = {"type": "long"}


def _graph(links: int, effort: int) -> dict[str, object]:
    return {
        "method": {
            "name": "hnsw",
            "engine": "lucene",
            "space_type": "cosinesimil",
            "parameters": {"m": links, "ef_construction": effort},
        }
    }


_STORED_NUMBER = {"type": "integer", "index": False, "doc_values": False}


def meta_of(model_revision: str, dimensions: int) -> dict[str, object]:
    return {
        "model_revision": model_revision,
        "dimensions": dimensions,
        "mapping_version": MAPPING_VERSION,
        "analysis_version": ANALYSIS_VERSION,
    }


def is_writable(meta: Mapping[str, Any]) -> bool:
    """Whether this code may write documents there. A version that only adds to the one before it
    can name both, and publication goes on while indices are rebuilt; other than that it waits."""
    return (
        meta.get("mapping_version") in WRITABLE_MAPPINGS
        and meta.get("analysis_version") == ANALYSIS_VERSION
    )


def index_body(
    aliases: Sequence[str],
    *,
    model_revision: str,
    dimensions: int,
    shards: int,
    replicas: str,
    exact: bool,
) -> dict[str, object]:
    """``exact``: without a graph, where every vector that the filter leaves is compared. ``replicas``:
    what ``auto_expand_replicas`` takes, such as "0-1"."""
    return {
        "aliases": {alias: {} for alias in aliases},
        "settings": {
            "index": {
                "number_of_shards": shards,
                "auto_expand_replicas": replicas,
                "knn": not exact,
                # Publication refreshes when a batch is complete; half of one is never visible.
                "refresh_interval": -1,
            },
            "analysis": ANALYZER,
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": meta_of(model_revision, dimensions),
            "properties": {
                "chunk_id": _KEYWORD,
                "tenant": _KEYWORD,
                "document_id": _KEYWORD,
                "source_id": _KEYWORD,
                "trust_domain": _KEYWORD,
                "version": _LONG,
                "ordinal": _STORED_NUMBER,
                "title": _SEARCHED_TEXT,
                "heading": _SEARCHED_TEXT,
                "text": _SEARCHED_TEXT,
                "page": _STORED_NUMBER,
                "acl": _KEYWORD,
                "proof": _STORED,
                "chunk_count": _STORED_NUMBER,
                "version_digest": _STORED,
                "model_revision": _STORED,
                "metadata": {"type": "object", "enabled": False},
                "observed_at": _LONG,
                "valid_from": _LONG,
                "valid_to": _LONG,
                "recorded_from": _LONG,
                "recorded_through": _LONG,
                "tags": _KEYWORD,
                "ordered": {
                    "type": "nested",
                    "properties": {"key": _KEYWORD, "number": {"type": "double"}, "time": _LONG},
                },
                SEARCHED: {"type": "text", "analyzer": "custody", "index_options": "freqs"},
                VECTOR: {
                    "type": "knn_vector",
                    "dimension": dimensions,
                    **({} if exact else _graph(16, 128)),
                },
                **({} if exact else _crowds(dimensions)),
            },
        },
    }


def _crowds(dimensions: int) -> dict[str, object]:
    """An index with graphs makes one of each field of vectors: the least that there is, for one that
    is never entered."""
    return {
        LIKENESS: _KEYWORD,
        CROWDED: {"type": "knn_vector", "dimension": dimensions + 1, **_graph(2, 2)},
    }


def meta_in(index: Mapping[str, Any]) -> dict[str, Any]:
    """``_meta`` of one index of a mapping response; empty where it is not one of ours."""
    return dict(index["mappings"].get("_meta") or {})


class Placed(NamedTuple):
    """An entry, and where its vector is kept. ``likeness``: of a vector in the graph; None in an
    index that has none, and of ``crowded`` ones."""

    entry: IndexEntry
    vector: Vector
    likeness: str | None
    crowded: bool


def bulk_lines(alias: str, placed: Sequence[Placed]) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for entry, vector, likeness, crowded in placed:
        document = encode(entry)
        if crowded:
            document[CROWDED] = [*vector.tolist(), 1.0]
        else:
            document[VECTOR] = vector.tolist()
        if likeness is not None:
            document[LIKENESS] = likeness
        document["tags"] = tags(entry.metadata)
        document["ordered"] = [
            {"key": value.key, "number": value.number}
            if value.time is None
            else {"key": value.key, "time": value.time}
            for value in ordered_values(entry.metadata)
        ]
        lines.append({"index": {"_index": alias, "_id": entry.chunk_id}})
        lines.append(document)
    return lines
