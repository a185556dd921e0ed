"""``chunks.jsonl``: one canonical leaf a line, in order. Every rebuild reads these bytes."""

from __future__ import annotations

from collections.abc import Sequence

from custody.domain.model import Chunk
from custody.domain.provenance.canonical import leaf_bytes, parse_json
from custody.errors import IntegrityError

CONTENT_TYPE = "application/jsonl"
_FIELDS = {"document", "version", "ordinal", "title", "heading", "page", "text"}


def encode(chunks: Sequence[Chunk]) -> bytes:
    return b"".join(leaf_bytes(chunk) + b"\n" for chunk in chunks)


def decode(body: bytes) -> tuple[Chunk, ...]:
    """Raises IntegrityError(malformed-chunks) unless every line is a leaf and the ordinals count
    up from 0."""
    chunks = tuple(_chunk(line) for line in body.split(b"\n")[:-1])
    if not body.endswith(b"\n") or [c.ordinal for c in chunks] != list(range(len(chunks))):
        raise IntegrityError("The chunks are not complete.", code="malformed-chunks")
    return chunks


def _chunk(line: bytes) -> Chunk:
    value = parse_json(line)
    if not isinstance(value, dict) or set(value) != _FIELDS:
        raise IntegrityError("A line is not a chunk.", code="malformed-chunks")
    if not _is_typed(value):
        raise IntegrityError("A line is not a chunk.", code="malformed-chunks")
    chunk = Chunk(
        document_id=value["document"],
        version=value["version"],
        ordinal=value["ordinal"],
        title=value["title"],
        heading=value["heading"],
        page=value["page"],
        text=value["text"],
    )
    if leaf_bytes(chunk) != line:
        raise IntegrityError("A line is not a canonical chunk.", code="malformed-chunks")
    return chunk


def _is_typed(value: dict[str, object]) -> bool:
    texts = [value["document"], value["text"]]
    texts += [value[name] for name in ("title", "heading") if value[name] is not None]
    numbers = [value["version"], value["ordinal"]]
    numbers += [value["page"]] if value["page"] is not None else []
    return all(isinstance(text, str) for text in texts) and all(
        isinstance(number, int) and not isinstance(number, bool) for number in numbers
    )
