"""A version let in, and its way until it is signed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custody.domain.ledger import transitions
from custody.domain.ledger.drops import Drop
from custody.domain.model import DocumentKey, Inspection, ObjectRef, VersionRecord
from custody_memory.ledger.drops import MemoryDrops


class MemoryIngestion(MemoryDrops):
    def accept(
        self, draft: VersionRecord, *, expected_revision: int, drop: Drop | None = None
    ) -> VersionRecord:
        with self._lock:
            head, record = transitions.accepted(
                self._heads.get(draft.key), draft, expected_revision
            )
            if drop is not None:
                self._store_drop(replace(drop, version=record.version))
            self._heads[draft.key] = head
            self._store(record)
            return record

    def chunked(
        self,
        key: DocumentKey,
        version: int,
        *,
        chunks: ObjectRef,
        chunk_count: int,
        parts_total: int,
        parser: str,
        chunker: str,
        title: str | None,
        inspection: Inspection,
    ) -> VersionRecord:
        return self._change(
            key,
            version,
            lambda record: transitions.chunked(
                record,
                chunks=chunks,
                chunk_count=chunk_count,
                parts_total=parts_total,
                parser=parser,
                chunker=chunker,
                title=title,
                inspection=inspection,
            ),
        )

    def part_done(
        self, key: DocumentKey, version: int, part: int, *, model_revision: str
    ) -> VersionRecord:
        return self._change(
            key, version, lambda record: transitions.part_done(record, part, model_revision)
        )

    def reject(self, key: DocumentKey, version: int, reasons: Sequence[str]) -> None:
        with self._lock:
            result = transitions.rejected(
                self._heads.get(key), self._version(key, version), reasons
            )
            if result is None:
                return
            head, record = result
            self._store(record)
            if head is not None:
                self._heads[key] = head
