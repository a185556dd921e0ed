"""Ledger values for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from custody.domain.model import (
    Acl,
    DocumentKey,
    Envelope,
    Inspection,
    KeyState,
    ObjectRef,
    Source,
    SourceKey,
    VerificationKey,
    VersionRecord,
    VersionState,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=5, microseconds=123456)


def draft(key: DocumentKey, **changes: Any) -> VersionRecord:
    values: dict[str, Any] = {
        "key": key,
        "version": 0,
        "source_id": "wiki",
        "name": "guide.md",
        "state": VersionState.PENDING,
        "content_type": "text/markdown",
        "content_sha256": "a" * 64,
        "raw": ObjectRef("raw/key", "v1", 10),
        "acl": Acl.of("group:staff", "user:ann"),
        "uri": "https://wiki.example/guide",
        "title": "Guide",
        "metadata": {"team": "docs", "year": 2026, "draft": False, "weight": 1.0, "tags": ("a",)},
        "accepted_at": NOW,
    } | changes
    return VersionRecord(**values)


def published(record: VersionRecord, statement: str = "", **changes: Any) -> dict[str, Any]:
    statement = statement or f"statement-{record.version}"
    return {
        "chunk_root": f"{record.version:064x}",
        "chunk_count": 3,
        "statement_id": statement,
        "envelope": envelope(statement),
        "model_revision": "model-1",
    } | changes


def envelope(statement: str, size: int = 0) -> Envelope:
    payload = f'{{"id":"{statement}"}}'.encode() + b"\x00\xff" + b" " * size
    return Envelope("application/vnd.in-toto+json", payload, "key-1", b"\x30\x45signature")


def parsed() -> dict[str, Any]:
    return {
        "chunks": ObjectRef("evidence/key/chunks.jsonl", "c1", 99),
        "chunk_count": 70,
        "parts_total": 3,
        "parser": "markdown-1",
        "chunker": "tokens-1",
        "title": None,
        "inspection": Inspection("b" * 64, ("hidden-text",), suspicious=True),
    }


def source(tenant: str, source_id: str = "wiki", **changes: Any) -> Source:
    values: dict[str, Any] = {
        "key": SourceKey(tenant, source_id),
        "trust_domain": "official",
        "writers": ("user:ann",),
        "default_acl": Acl.of("group:staff"),
        "created_at": NOW,
    } | changes
    return Source(**values)


def key(keyid: str = "key-1", state: KeyState = KeyState.ACTIVE) -> VerificationKey:
    return VerificationKey(keyid, "ingestion", "-----BEGIN PUBLIC KEY-----", state, NOW)
