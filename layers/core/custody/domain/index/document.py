"""One index entry as a flat JSON object, and back: the form in which both indexes keep it.

Times are integer microseconds since 1970 UTC; an open end is ``BEGINNING`` or ``END``.
The vector is not part of it: it never leaves an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from operator import itemgetter
from types import NoneType
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
    values = _VALUES(document)
    if tuple(map(type, values)) not in _SHAPES:
        raise TypeError("a field has another type")
    (
        chunk_id,
        tenant,
        document_id,
        source_id,
        trust_domain,
        version,
        ordinal,
        title,
        heading,
        page,
        text,
        acl,
        proof,
        chunk_count,
        version_digest,
        model_revision,
        metadata,
        observed_at,
        valid_from,
        valid_to,
        recorded_from,
        recorded_through,
    ) = values
    if not _TEXTS.issuperset(map(type, acl)) or not _TEXTS.issuperset(map(type, proof)):
        raise TypeError("a list holds another type")
    return IndexEntry(  # by position: a search makes a hundred of them
        chunk_id,
        DocumentKey(tenant, document_id),
        source_id,
        trust_domain,
        version,
        ordinal,
        title,
        heading,
        page,
        text,
        tuple(acl),
        tuple(proof),
        chunk_count,
        version_digest,
        model_revision,
        None,
        _metadata(metadata),
        None if observed_at is None else moment_of(observed_at),
        None if valid_from == BEGINNING else moment_of(valid_from),
        None if valid_to == END else moment_of(valid_to),
        None if recorded_from == BEGINNING else moment_of(recorded_from),
        None if recorded_through == END else moment_of(recorded_through),
    )


_FIELDS: dict[str, tuple[type, ...]] = {
    "chunk_id": (str,),
    "tenant": (str,),
    "document_id": (str,),
    "source_id": (str,),
    "trust_domain": (str,),
    "version": (int,),
    "ordinal": (int,),
    "title": (str, NoneType),
    "heading": (str, NoneType),
    "page": (int, NoneType),
    "text": (str,),
    "acl": (list,),
    "proof": (list,),
    "chunk_count": (int,),
    "version_digest": (str,),
    "model_revision": (str,),
    "metadata": (dict,),
    "observed_at": (int, NoneType),
    "valid_from": (int,),
    "valid_to": (int,),
    "recorded_from": (int,),
    "recorded_through": (int,),
}
_VALUES = itemgetter(*_FIELDS)
_SHAPES = frozenset(product(*_FIELDS.values()))
_TEXTS = frozenset({str})


def _metadata(stored: Mapping[str, Any]) -> dict[str, MetadataValue]:
    """Raises TypeError for a value that no filter could have matched."""
    return {key: _value(value) for key, value in stored.items()}


def _value(value: object) -> MetadataValue:
    match value:
        case str() | bool() | int() | float():
            return value
        case list() if _TEXTS.issuperset(map(type, value)):
            return tuple(value)
        case _:
            raise TypeError("no value of metadata")
