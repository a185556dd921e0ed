"""Where each object of a document lies in the bucket."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from custody.domain.model import DocumentKey, SourceKey
from custody.domain.provenance.identifiers import document_hash

INCOMING = "incoming"
REJECTED = "rejected"
REASON_SUFFIX = ".reason.json"
MAX_KEY_BYTES = 1_024
_TOLD_BY_DIGEST = re.compile(r"/sha256-[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class DropKey:
    """The parts of ``incoming/<tenant>/<source_id>/<path>``, as they stand."""

    tenant: str
    source_id: str
    path: str


def split_incoming(key: str) -> DropKey | None:
    """None for a key that has not at least these four parts. The path is everything after the
    source, slashes included; nothing is judged or normalised."""
    parts = key.split("/", 3)
    if len(parts) != 4 or parts[0] != INCOMING:
        return None
    return DropKey(parts[1], parts[2], parts[3])


def incoming(source: SourceKey, path: str) -> str:
    return f"{INCOMING}/{source.tenant}/{source.source_id}/{path}"


def rejected(incoming_key: str) -> str:
    """The copy of a dropped object that was refused, under the same path. One is told by its digest
    that leaves no room for the reason's suffix, or that looks like another's reason or digest: no
    two drops share a copy, and none lies where the other's reason is."""
    key = f"{REJECTED}/{incoming_key.removeprefix(f'{INCOMING}/')}"
    data = key.encode("utf-8", "surrogatepass")
    own = not key.endswith(REASON_SUFFIX) and _TOLD_BY_DIGEST.search(key) is None
    if own and len(data) + len(REASON_SUFFIX) <= MAX_KEY_BYTES:
        return key
    return f"{'/'.join(key.split('/', 3)[:3])[:200]}/sha256-{hashlib.sha256(data).hexdigest()}"


def folder(kind: str, key: DocumentKey) -> str:
    """``kind``: raw, evidence or vectors. Ends with a slash: a prefix of this document alone."""
    return f"{kind}/{key.tenant}/{document_hash(key.document_id)}/"


def raw(key: DocumentKey, version: int) -> str:
    return f"{folder('raw', key)}{version}"


def chunks(key: DocumentKey, version: int) -> str:
    return f"{folder('evidence', key)}{version}/chunks.jsonl"


def vectors(key: DocumentKey, version: int, model_revision: str, part: int) -> str:
    return f"{folder('vectors', key)}{version}/{model_revision}/{part:05d}.npy"
