"""Heads and versions in DynamoDB: read, decide by the domain's transitions, write on the revision
that was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.calls import Table, Uncertain, wire
from custody.adapters.dynamodb.listing import list_keys
from custody.adapters.dynamodb.rows import Stored
from custody.application.ports import Flip, Page
from custody.domain.ledger import transitions
from custody.domain.ledger.drops import Drop
from custody.domain.model import (
    Acl,
    DocumentKey,
    Envelope,
    Head,
    Inspection,
    ObjectRef,
    VersionRecord,
    VersionState,
)
from custody.errors import IntegrityError


class Documents:
    def __init__(self, table: Table) -> None:
        self._table = table

    # reading

    def head(self, key: DocumentKey) -> Head | None:
        stored = rows.load(Head, self._table.get(layout.head(key)))
        return stored.value if stored else None

    def version(self, key: DocumentKey, version: int) -> VersionRecord | None:
        stored = self._stored(key, version)
        return stored.value if stored else None

    def versions(
        self, key: DocumentKey, *, limit: int = 100, cursor: str | None = None
    ) -> Page[VersionRecord]:
        below = transitions.version_cursor(cursor)
        newest = layout.version_sort(10**12 - 1 if below is None else below - 1)
        if below is not None and below <= 1:
            return Page(())
        reply = self._table.query(
            KeyConditionExpression="pk = :pk AND sk BETWEEN :oldest AND :newest",
            ExpressionAttributeValues={
                ":pk": {"S": layout.head(key).pk},
                ":oldest": {"S": layout.version_sort(0)},
                ":newest": {"S": newest},
            },
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit + 1,
        )
        found = [stored.value for item in reply["Items"] if (stored := rows.load_version(item))]
        more = len(found) > limit or "LastEvaluatedKey" in reply
        page = tuple(found[:limit])
        return Page(page, str(page[-1].version) if more and page else None)

    def list_heads(
        self,
        tenant: str,
        *,
        source_id: str | None,
        state: str | None,
        name: str | None,
        limit: int,
        cursor: str | None,
    ) -> Page[Head]:
        wanted = {"st": state, "nm": name}
        keys, following = list_keys(
            self._table,
            [layout.head_listing(tenant, shard) for shard in range(layout.LISTING_SHARDS)],
            limit=limit,
            cursor=cursor,
            prefix=source_id,
            equal={field: value for field, value in wanted.items() if value is not None},
        )
        bodies = [item["body"]["S"] for item in self._table.batch(keys, attributes=("body",))]
        # The index may lag: the filter holds for what the table says now.
        heads = [
            head
            for head in codec.load_many(Head, bodies)
            if state in (None, head.state.value) and name in (None, head.name)
        ]
        return Page(tuple(sorted(heads, key=transitions.listing_position)), following)

    # publication

    def accept(
        self, draft: VersionRecord, *, expected_revision: int, drop: Drop | None = None
    ) -> VersionRecord:
        head, record = transitions.accepted(self.head(draft.key), draft, expected_revision)
        writes = [rows.head_row(head), rows.version_row(record, 0)]
        if drop is not None:
            after = replace(drop, revision=drop.revision + 1, version=record.version)
            writes.append(rows.drop_row(after))
        if not self._table.write(*writes):
            raise transitions.moved("document or its drop")
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
        """Adds to a set: parts finish side by side and don't wait for each other's revision."""
        if part < 0:
            raise IntegrityError("The version has no such part.", code="unknown-part")
        for _ in self._table.pacing.tries():
            added = self._add_part(key, version, part, model_revision)
            record = transitions.record_of(self.version(key, version))
            if transitions.part_done(record, part, model_revision) is None:
                return record
            if added is None:
                raise self._table.unavailable("it did not answer in time")
        raise self._table.unavailable("contended")

    def _add_part(
        self, key: DocumentKey, version: int, part: int, model_revision: str
    ) -> bool | None:
        """None: no reply came."""

        def send() -> None:
            self._table.client.update_item(
                TableName=self._table.name,
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
            return self._table.attempt(send)
        except Uncertain:
            return None

    def signed(self, record: VersionRecord) -> VersionRecord:
        return self._change(
            record.key, record.version, lambda stored: transitions.signed(stored, record)
        )

    def flip(self, flip: Flip) -> Head | None:
        key, version = flip.record.key, flip.record.version
        for _ in self._table.pacing.tries():
            former, stored = self._pair(key, version)
            result = transitions.flipped(former, stored.value if stored else None, flip.record)
            writes = []
            if stored is not None and result.record is not None:
                writes.append(rows.version_row(result.record, stored.revision))
            if result.write_head and result.head is not None and former is not None:
                writes.append(rows.head_row(result.head))
                past = self._stored(key, former.version) if former.version else None
                retired = transitions.superseded(past.value) if past else None
                if past is not None and retired is not None:
                    writes.append(rows.version_row(retired, past.revision))
            if not writes or self._table.write(*writes):
                return result.head
        raise self._table.unavailable("contended")

    def reject(self, key: DocumentKey, version: int, reasons: Sequence[str]) -> None:
        for _ in self._table.pacing.tries():
            head, stored = self._pair(key, version)
            result = transitions.rejected(head, stored.value if stored else None, reasons)
            if result is None or stored is None:
                return
            after, record = result
            writes = [rows.version_row(record, stored.revision)]
            if after is not None:
                writes.append(rows.head_row(after))
            if self._table.write(*writes):
                return
        raise self._table.unavailable("contended")

    # access

    def narrow(self, key: DocumentKey, acl: Acl, *, expected_revision: int) -> Head:
        head = transitions.narrowed(self.head(key), acl, expected_revision)
        if not self._table.write(rows.head_row(head)):
            raise transitions.moved("document")
        return head

    def flip_acl(
        self,
        key: DocumentKey,
        *,
        version: int,
        acl_revision: int,
        acl: Acl,
        statement_id: str,
        envelope: Envelope,
    ) -> Head | None:
        for _ in self._table.pacing.tries():
            head, stored = self._pair(key, version)
            result = transitions.flipped_acl(
                head,
                stored.value if stored else None,
                acl_revision=acl_revision,
                acl=acl,
                statement_id=statement_id,
                envelope=envelope,
            )
            if not isinstance(result, tuple) or stored is None:
                return None if isinstance(result, tuple) else result
            after, record = result
            if self._table.write(rows.head_row(after), rows.version_row(record, stored.revision)):
                return after
        raise self._table.unavailable("contended")

    # shared

    def _stored(self, key: DocumentKey, version: int) -> Stored[VersionRecord] | None:
        return rows.load_version(self._table.get(layout.version(key, version)))

    def _pair(
        self, key: DocumentKey, version: int
    ) -> tuple[Head | None, Stored[VersionRecord] | None]:
        """A head and one of its versions, in one request."""
        items = self._table.batch([layout.head(key), layout.version(key, version)])
        by_sort = {item["sk"]["S"]: item for item in items}
        head = rows.load(Head, by_sort.get("HEAD"))
        stored = rows.load_version(by_sort.get(layout.version_sort(version)))
        return head.value if head else None, stored

    def _change(
        self,
        key: DocumentKey,
        version: int,
        decide: Callable[[VersionRecord], VersionRecord | None],
    ) -> VersionRecord:
        for _ in self._table.pacing.tries():
            stored = self._stored(key, version)
            record = transitions.record_of(stored.value if stored else None)
            after = decide(record)
            if after is None or stored is None:
                return record
            if self._table.write(rows.version_row(after, stored.revision)):
                return after
        raise self._table.unavailable("contended")
