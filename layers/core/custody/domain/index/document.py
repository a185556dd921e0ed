"""One index entry as a flat JSON object, and back: the form in which both indexes keep it.

Times are integer microseconds since 1970 UTC; an open end is ``BEGINNING`` or ``END``.
The vector is not part of it: it never leaves an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from custody.domain.index.candidates import IndexEntry
from custody.domain.index.metadata_match import BEGINNING, END, microseconds, moment_of
from custody.domain.model import DocumentKey, MetadataValue


def encode(entry: IndexEntry) -> dict[str, object]:
    return {
        "chunk_id": entry.chunk_id,
        "tenant": entry.key.tenant,
        "document_id": entry.key.document_id,
        "source_id": entry.source_id,
        "trust_domain": entry.trust_domain,
        "version": entry.version,
        "ordinal": entry.ordinal,
        "title": entry.title,
        "heading": entry.heading,
        "page": entry.page,
        "text": entry.text,
        "acl": sorted(set(entry.acl)),
        "proof": list(entry.proof),
        "chunk_count": entry.chunk_count,
        "version_digest": entry.version_digest,
        "model_revision": entry.model_revision,
        "metadata": dict(entry.metadata),
        "observed_at": microseconds(entry.observed_at) if entry.observed_at else None,
        "valid_from": microseconds(entry.valid_from) if entry.valid_from else BEGINNING,
        "valid_to": microseconds(entry.valid_to) if entry.valid_to else END,
        "recorded_from": microseconds(entry.recorded_from) if entry.recorded_from else BEGINNING,
        "recorded_through": microseconds(entry.recorded_through) if entry.recorded_through else END,
    }


def decode(document: Mapping[str, Any]) -> IndexEntry:
    """Raises KeyError, TypeError or ValueError for what ``encode`` did not write."""
    observed_at = document["observed_at"]
    valid_from = document["valid_from"]
    valid_to = document["valid_to"]
    recorded_from = document["recorded_from"]
    recorded_through = document["recorded_through"]
    return IndexEntry(  # by position: a search makes a hundred of them
        document["chunk_id"],
        DocumentKey(document["tenant"], document["document_id"]),
        document["source_id"],
        document["trust_domain"],
        document["version"],
        document["ordinal"],
        document["title"],
        document["heading"],
        document["page"],
        document["text"],
        tuple(document["acl"]),
        tuple(document["proof"]),
        document["chunk_count"],
        document["version_digest"],
        document["model_revision"],
        None,
        _metadata(document["metadata"]),
        None if observed_at is None else moment_of(observed_at),
        None if valid_from == BEGINNING else moment_of(valid_from),
        None if valid_to == END else moment_of(valid_to),
        None if recorded_from == BEGINNING else moment_of(recorded_from),
        None if recorded_through == END else moment_of(recorded_through),
    )


def _metadata(stored: Mapping[str, Any]) -> dict[str, MetadataValue]:
    return {
        key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()
    }
