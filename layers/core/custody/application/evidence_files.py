"""Read back what parsing and embedding stored. Both are derived: the ledger pins the chunks, and
vectors are checked for shape and value before they may be indexed."""

from __future__ import annotations

import io

import numpy as np

from custody.application.ports import Matrix, ObjectStore
from custody.domain.model import Chunk, VersionRecord
from custody.domain.storage import chunk_lines, object_keys
from custody.errors import IntegrityError

PART_CHUNKS = 32
"""A version is embedded, and its vectors are stored, in parts of so many chunks."""

MAX_CHUNK_FILE_BYTES = 256 * 1024 * 1024
MAX_VECTOR_FILE_BYTES = 4 * 1024 * 1024


def read_chunks(objects: ObjectStore, record: VersionRecord) -> tuple[Chunk, ...]:
    """Raises IntegrityError(malformed-chunks) unless they are this version's, all of them."""
    if record.chunks is None:
        raise IntegrityError("The version has not been parsed.", code="malformed-chunks")
    chunks = chunk_lines.decode(objects.get(record.chunks, limit=MAX_CHUNK_FILE_BYTES))
    if len(chunks) != record.chunk_count or any(
        (chunk.document_id, chunk.version) != (record.key.document_id, record.version)
        for chunk in chunks
    ):
        raise IntegrityError("The chunks are another version's.", code="malformed-chunks")
    return chunks


def check_vectors(matrix: Matrix, rows: int) -> Matrix:
    """Shape (rows, dimensions), float32, L2-normalised. Raises IntegrityError(invalid-vector)."""
    if matrix.ndim != 2 or matrix.shape[0] != rows or matrix.shape[1] == 0:
        raise IntegrityError("The vectors have the wrong shape.", code="invalid-vector")
    if matrix.dtype != np.float32 or not np.isfinite(matrix).all():
        raise IntegrityError("A vector is not finite.", code="invalid-vector")
    if not np.allclose(np.linalg.norm(matrix, axis=1), 1.0, atol=1e-3):
        raise IntegrityError("A vector is not of length one.", code="invalid-vector")
    return matrix


def encode_vectors(matrix: Matrix) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, matrix, allow_pickle=False)
    return buffer.getvalue()


def rows_of(record: VersionRecord, part: int) -> int:
    """How many chunks a part has."""
    return min(PART_CHUNKS, record.chunk_count - part * PART_CHUNKS)


def read_every_vector(
    objects: ObjectStore, record: VersionRecord, model_revision: str | None = None
) -> Matrix:
    """Shape (chunk_count, dimensions): of the model that the version came with, or of another one.
    Raises IntegrityError(parts-missing | vectors-missing | invalid-vector)."""
    if record.parts_total == 0 or len(record.parts_done) != record.parts_total:
        raise IntegrityError("Parts of the version are missing.", code="parts-missing")
    return np.concatenate(
        [
            read_vectors(objects, record, part, rows_of(record, part), model_revision)
            for part in range(record.parts_total)
        ]
    )


def read_vectors(
    objects: ObjectStore,
    record: VersionRecord,
    part: int,
    rows: int,
    model_revision: str | None = None,
) -> Matrix:
    """Raises IntegrityError(vectors-missing | invalid-vector)."""
    revision = model_revision or record.model_revision or ""
    key = object_keys.vectors(record.key, record.version, revision, part)
    found = objects.head(key)
    if found is None:
        raise IntegrityError("A part's vectors are missing.", code="vectors-missing")
    body = objects.get(found.ref, limit=MAX_VECTOR_FILE_BYTES)
    try:
        matrix = np.lib.format.read_array(io.BytesIO(body), allow_pickle=False)
    except (ValueError, EOFError):
        raise IntegrityError("A part's vectors can't be read.", code="invalid-vector") from None
    return check_vectors(matrix, rows)
