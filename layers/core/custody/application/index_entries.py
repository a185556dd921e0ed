"""What an index holds of one version, from its record, its canonical chunks and its vectors."""

from __future__ import annotations

from collections.abc import Sequence

from custody.application.ports import Matrix
from custody.domain.index.candidates import IndexEntry
from custody.domain.model import Acl, Chunk, Source, VersionRecord
from custody.domain.provenance import merkle
from custody.domain.provenance.canonical import leaf_bytes
from custody.domain.provenance.identifiers import chunk_id


def leaves_of(chunks: Sequence[Chunk]) -> list[bytes]:
    """The leaf hashes of the tree whose root is signed."""
    return [merkle.leaf_hash(leaf_bytes(chunk)) for chunk in chunks]


def entries_of(
    record: VersionRecord,
    source: Source,
    chunks: Sequence[Chunk],
    vectors: Matrix,
    *,
    acl: Acl,
    model_revision: str,
    leaves: Sequence[bytes] | None = None,
) -> list[IndexEntry]:
    """``vectors``: shape (chunks, dimensions), of ``model_revision``. ``leaves``: where they have
    been made already."""
    paths = merkle.audit_paths(leaves_of(chunks) if leaves is None else leaves)
    return [
        IndexEntry(
            chunk_id=chunk_id(
                record.key.tenant,
                record.source_id,
                record.key.document_id,
                record.version,
                chunk.ordinal,
            ),
            key=record.key,
            source_id=record.source_id,
            trust_domain=source.trust_domain,
            version=record.version,
            ordinal=chunk.ordinal,
            title=chunk.title,
            heading=chunk.heading,
            page=chunk.page,
            text=chunk.text,
            acl=acl.allow,
            proof=tuple(sibling.hex() for sibling in path),
            chunk_count=len(chunks),
            version_digest=record.content_sha256,
            model_revision=model_revision,
            vector=vector,
            metadata=record.metadata,
            observed_at=record.observed_at,
            valid_from=record.valid_from,
            valid_to=record.valid_to,
            recorded_from=record.published_at or record.accepted_at,
            recorded_through=record.superseded_at,
        )
        for chunk, vector, path in zip(chunks, vectors, paths, strict=True)
    ]
