"""Documents listed, and their versions page by page."""

from __future__ import annotations

from collections.abc import Sequence

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.calls import wire
from custody.adapters.dynamodb.layout import Key
from custody.adapters.dynamodb.listing import list_keys
from custody.adapters.dynamodb.records import DynamoHeadReads, DynamoVersionReads
from custody.application.ports import Page
from custody.domain.ledger import transitions
from custody.domain.ledger.acl_history import AclRevision
from custody.domain.model import DocumentKey, Head, VersionRecord

_SCANNED = 200
"""Items that one page reads, other tenants' and receipts included."""


class DynamoHistory(DynamoVersionReads):
    """``VersionHistory``."""

    def versions(
        self, key: DocumentKey, *, limit: int = 100, cursor: str | None = None
    ) -> Page[VersionRecord]:
        below = transitions.version_cursor(cursor)
        newest = layout.version_sort(10**12 - 1 if below is None else below - 1)
        if below is not None and below <= 1:
            return Page(())
        reply = self._work.query(
            KeyConditionExpression="pk = :pk AND sk BETWEEN :oldest AND :newest",
            ExpressionAttributeValues={
                ":pk": {"S": layout.version(key, 0).pk},
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


class DynamoHeadScan(DynamoHeadReads):
    """``HeadScan``: the table itself is read, of all tenants, for no index of it is consistent."""

    def scan_heads(self, tenant: str, *, cursor: str | None = None) -> Page[Head]:
        arguments: dict[str, object] = {}
        if cursor is not None:
            partition, _, sort = cursor.partition("|")
            arguments["ExclusiveStartKey"] = wire(Key(partition, sort))
        reply = self._ledger.scan(
            FilterExpression="sk = :head AND begins_with(gsi1pk, :tenant)",
            ExpressionAttributeValues={
                ":head": {"S": "HEAD"},
                ":tenant": {"S": layout.head_listing_of(tenant)},
            },
            ConsistentRead=True,
            Limit=_SCANNED,
            **arguments,
        )
        heads = codec.load_many(Head, [item["body"]["S"] for item in reply["Items"]])
        last = reply.get("LastEvaluatedKey")
        after = _cursor(Key(last["pk"]["S"], last["sk"]["S"])) if last else None
        return Page(tuple(heads), after)

    def cursor_after(self, head: Head) -> str:
        return _cursor(layout.head(head.key))


class DynamoHeadListing(DynamoHeadReads):
    """``HeadListing`` and ``AclHistory``."""

    def acl_revisions(self, key: DocumentKey) -> Sequence[AclRevision]:
        found = rows.every(self._ledger, layout.head(key).pk, layout.ACL_REVISION)
        return tuple(codec.load_many(AclRevision, found))

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
            self._ledger,
            [layout.head_listing(tenant, shard) for shard in range(layout.LISTING_SHARDS)],
            limit=limit,
            cursor=cursor,
            prefix=source_id,
            equal={field: value for field, value in wanted.items() if value is not None},
        )
        # The index may lag: the filter holds for what the table says now.
        heads = [
            head
            for head in codec.load_readable(Head, rows.bodies(self._ledger, keys))
            if head is not None and state in (None, head.state.value) and name in (None, head.name)
        ]
        return Page(tuple(sorted(heads, key=transitions.listing_position)), following)


def _cursor(key: Key) -> str:
    return f"{key.pk}|{key.sk}"
