"""A version let in, and its way until it is signed: read, decide by the domain's transitions, write on
the revision that was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custody.adapters.dynamodb import layout, rows
from custody.adapters.dynamodb.calls import Uncertain, wire
from custody.adapters.dynamodb.records import DynamoRecords, DynamoVersionReads
from custody.adapters.dynamodb.writes import write
from custody.domain.ledger import transitions
from custody.domain.ledger.drops import Drop
from custody.domain.model import (
    DocumentKey,
    Inspection,
    ObjectRef,
    VersionRecord,
    VersionState,
)
from custody.errors import IntegrityError


class DynamoSteps(DynamoVersionReads):
    """``VersionSteps``."""

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
        """Adds to a set: parts finish side by side and don't wait for each other's revision."""
        if part < 0:
            raise IntegrityError("The version has no such part.", code="unknown-part")
        for _ in self._work.pacing.tries():
            added = self._add_part(key, version, part, model_revision)
            record = transitions.record_of(self.version(key, version))
            if transitions.part_done(record, part, model_revision) is None:
                return record
            if added is None:
                raise self._work.unavailable("it did not answer in time")
        raise self._work.unavailable("contended")

    def _add_part(
        self, key: DocumentKey, version: int, part: int, model_revision: str
    ) -> bool | None:
        """None: no reply came."""

        def send() -> None:
            self._work.client.update_item(
                TableName=self._work.name,
                Key=wire(layout.version(key, version)),
                UpdateExpression="ADD #parts :parts SET #model = :model",
                ConditionExpression=(
                    "#st = :pending AND #total > :part "
                    "AND (attribute_not_exists(#model) OR #model = :model)"
                ),
                ExpressionAttributeNames={
                    "#parts": "parts",
                    "#model": "model",
                    "#st": "st",
                    "#total": "total",
                },
                ExpressionAttributeValues={
                    ":parts": {"NS": [str(part)]},
                    ":part": {"N": str(part)},
                    ":model": {"S": model_revision},
                    ":pending": {"S": VersionState.PENDING.value},
                },
            )

        try:
            return self._work.attempt(send)
        except Uncertain:
            return None


class DynamoAdmissions(DynamoRecords):
    """``Admissions`` and ``Rejections``: the head and the version in one transaction."""

    def accept(
        self, draft: VersionRecord, *, expected_revision: int, drop: Drop | None = None
    ) -> VersionRecord:
        head, record = transitions.accepted(self.head(draft.key), draft, expected_revision)
        writes = [rows.head_row(self._ledger, head), rows.version_row(self._work, record, 0)]
        if drop is not None:
            after = replace(drop, revision=drop.revision + 1, version=record.version)
            writes.append(rows.drop_row(self._work, after))
        if not write(*writes):
            raise transitions.moved("document or its drop")
        return record

    def reject(self, key: DocumentKey, version: int, reasons: Sequence[str]) -> None:
        for _ in self._ledger.pacing.tries():
            head, stored = self._pair(key, version)
            result = transitions.rejected(head, stored.value if stored else None, reasons)
            if result is None or stored is None:
                return
            after, record = result
            writes = [rows.version_row(self._work, record, stored.revision)]
            if after is not None:
                writes.append(rows.head_row(self._ledger, after))
            if write(*writes):
                return
        raise self._ledger.unavailable("contended")
