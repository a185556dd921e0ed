"""Signed evidence for tests: real keys, real statements, real Merkle proofs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from custody.application.ports import Signer
from custody.domain.index.candidates import IndexEntry
from custody.domain.model import (
    Acl,
    Chunk,
    Control,
    DocumentKey,
    Head,
    LedgerView,
    ObjectRef,
    Principal,
    Source,
    SourceKey,
    VersionRecord,
    VersionState,
)
from custody.domain.provenance import merkle, statement
from custody.domain.provenance.canonical import leaf_bytes
from custody.domain.provenance.identifiers import chunk_id
from custody_memory.signer import LocalSigner

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
READER = Principal("ann", "acme", groups=frozenset({"staff"}), issued_at=NOW)


def signer(purpose: str = "ingestion") -> LocalSigner:
    return LocalSigner.generate(purpose, not_before=NOW - timedelta(days=30))


def source(source_id: str = "wiki", tenant: str = "acme") -> Source:
    return Source(SourceKey(tenant, source_id), "internal", ("user:ci",), created_at=NOW)


def publish(
    key: Signer,
    of: Source,
    document_id: str,
    texts: tuple[str, ...],
    *,
    version: int = 1,
    acl: Acl | None = None,
    signed_at: datetime = NOW,
) -> tuple[Head, tuple[IndexEntry, ...]]:
    """One live document version as publication leaves it in ledger and index."""
    record = VersionRecord(
        key=DocumentKey(of.key.tenant, document_id),
        version=version,
        source_id=of.key.source_id,
        name=f"{document_id}.md",
        state=VersionState.ACTIVE,
        content_type="text/markdown",
        content_sha256="ab" * 32,
        raw=ObjectRef("raw/x", "v1"),
        acl=acl or Acl.of("group:staff"),
        title="A title",
        observed_at=NOW - timedelta(hours=1),
        parser="p 1",
        chunker="c 1",
    )
    chunks = [
        Chunk(document_id, version, ordinal, record.title, "Heading", 1, text)
        for ordinal, text in enumerate(texts)
    ]
    leaves = [merkle.leaf_hash(leaf_bytes(chunk)) for chunk in chunks]
    root = merkle.root(leaves).hex()
    payload = statement.build(
        record,
        of,
        chunk_root=root,
        chunk_count=len(chunks),
        acl=record.acl,
        acl_revision=0,
        signed_at=signed_at,
        supersedes=None,
    )
    head = Head(
        key=record.key,
        source_id=record.source_id,
        name=record.name,
        revision=2,
        version=version,
        accepted_version=version,
        acl=record.acl,
        state=VersionState.ACTIVE,
        title=record.title,
        content_sha256=record.content_sha256,
        chunk_root=root,
        chunk_count=len(chunks),
        statement_id=statement.statement_id(payload),
        envelope=key.sign(statement.PAYLOAD_TYPE, payload),
        observed_at=record.observed_at,
        recorded_at=NOW,
    )
    entries = tuple(
        IndexEntry(
            chunk_id=chunk_id(of.key.tenant, record.source_id, document_id, version, chunk.ordinal),
            key=record.key,
            source_id=record.source_id,
            trust_domain=of.trust_domain,
            version=version,
            ordinal=chunk.ordinal,
            title=chunk.title,
            heading=chunk.heading,
            page=chunk.page,
            text=chunk.text,
            acl=record.acl.allow,
            proof=tuple(step.hex() for step in path),
            chunk_count=len(chunks),
            version_digest=record.content_sha256,
            model_revision="m1",
            observed_at=record.observed_at,
        )
        for chunk, path in zip(chunks, merkle.audit_paths(leaves), strict=True)
    )
    return head, entries


def ledger_view(*heads: Head, sources: tuple[Source, ...], keys: tuple[Signer, ...]) -> LedgerView:
    registered = [key.verification_key() for key in keys]
    return LedgerView(
        control=Control("acme", {key.keyid: key for key in registered}, {}),
        not_before=None,
        heads={head.key: head for head in heads},
        sources={one.key: one for one in sources},
    )


def with_head(read: LedgerView, head: Head) -> LedgerView:
    return replace(read, heads={**read.heads, head.key: head})
