"""Items of the ledger's tables: from values to rows and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from custody.adapters.dynamodb import codec, layout
from custody.adapters.dynamodb.batches import batch
from custody.adapters.dynamodb.calls import Item, Table
from custody.adapters.dynamodb.layout import Key
from custody.adapters.dynamodb.writes import Row
from custody.domain.index.builds import IndexBuild
from custody.domain.intake.sidecar import SUFFIX as SIDECAR_SUFFIX
from custody.domain.ledger import retention, transitions
from custody.domain.ledger.acl_history import AclRevision
from custody.domain.ledger.drops import Drop
from custody.domain.ledger.erasures import Erasure
from custody.domain.ledger.sources import SourceChange
from custody.domain.ledger.trust_changes import TrustChange
from custody.domain.model import (
    Envelope,
    Head,
    PolicyRef,
    Source,
    SourceKey,
    VerificationKey,
    VersionRecord,
    VersionState,
)
from custody.domain.storage import object_keys


@dataclass(frozen=True, slots=True)
class ServiceControl:
    """``layout``: the one that all tables have; 0 where none was named yet. ``since``: when each
    policy was put in force. ``packaged``: digests of the policies that came with the deployment."""

    keys: Mapping[str, VerificationKey] = field(default_factory=dict)
    policies: Mapping[str, PolicyRef] = field(default_factory=dict)
    epoch: int = 0
    layout: int = 0
    since: Mapping[str, datetime] = field(default_factory=dict)
    packaged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mark:
    layout: int


@dataclass(frozen=True, slots=True)
class TenantControl:
    policies: Mapping[str, PolicyRef] = field(default_factory=dict)
    trust_domains: frozenset[str] | None = None
    epoch: int = 0
    since: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Revocations:
    """Ids of the keys that were ever revoked."""

    keyids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PageSecret:
    secret: bytes


@dataclass(frozen=True, slots=True)
class PrincipalControl:
    not_before: datetime


@dataclass(frozen=True, slots=True)
class Stored[T]:
    """``revision`` is the item's own, the one that a conditional write names."""

    value: T
    revision: int


def load[T](kind: type[T], item: Item | None) -> Stored[T] | None:
    if item is None:
        return None
    return Stored(codec.load(kind, item["body"]["S"]), int(item["rev"]["N"]))


def bodies(table: Table, keys: Sequence[Key]) -> list[str]:
    """Of the items that exist, in no order."""
    wanted = [(table, key) for key in keys]
    return [item["body"]["S"] for item in batch(wanted, attributes=("body",))]


def every(table: Table, pk: str, kind: str) -> list[str]:
    """Bodies of all items of a partition whose sort key begins with ``kind``, in its order."""
    found: list[str] = []
    resume: dict[str, object] = {}
    while True:
        reply = table.query(
            KeyConditionExpression="pk = :pk AND begins_with(sk, :kind)",
            ExpressionAttributeValues={":pk": {"S": pk}, ":kind": {"S": kind}},
            ConsistentRead=True,
            **resume,
        )
        found += [item["body"]["S"] for item in reply["Items"]]
        if "LastEvaluatedKey" not in reply:
            return found
        resume = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}


def load_version(item: Item | None) -> Stored[VersionRecord] | None:
    """Parts and their model are attributes of their own: many embedders add to them at once."""
    stored = load(VersionRecord, item)
    if stored is None or item is None:
        return None
    parts = frozenset(int(part) for part in item["parts"]["NS"]) if "parts" in item else frozenset()
    model = stored.value.model_revision or item.get("model", {}).get("S")
    return replace(stored, value=replace(stored.value, parts_done=parts, model_revision=model))


def head_row(table: Table, head: Head) -> Row:
    shard = layout.head_shard(head.key)
    return Row(
        table,
        layout.head(head.key),
        codec.dump(head),
        head.revision - 1,
        {
            "st": {"S": head.state.value},
            "nm": {"S": head.name},
            "gsi1pk": {"S": layout.head_listing(head.key.tenant, shard)},
            "gsi1sk": {"S": transitions.listing_position(head)},
        },
    )


def head_rows(table: Table, head: Head, revision: AclRevision) -> tuple[Row, Row]:
    """A head that changed what may be read, and what is kept of it."""
    key = layout.acl_revision(head.key, revision.revision)
    return head_row(table, head), Row(table, key, codec.dump(revision), 0)


def version_row(table: Table, record: VersionRecord, expected: int) -> Row:
    body = codec.dump(replace(record, parts_done=frozenset()))
    attributes = {"st": {"S": record.state.value}, "total": {"N": str(record.parts_total)}}
    gone: tuple[str, ...] = ("parts", "model") if record.state is VersionState.ERASED else ()
    since = retention.kept_since(record)
    if since is not None:
        shard = layout.head_shard(record.key)
        attributes["gsi1pk"] = {"S": layout.superseded_listing(shard)}
        position = layout.superseded_position(since)
        attributes["gsi1sk"] = {"S": position if record.expired_at is None else layout.LEAVING}
    else:
        gone += ("gsi1pk", "gsi1sk")
    return Row(
        table,
        layout.version(record.key, record.version),
        body,
        expected,
        attributes,
        remove=gone,
    )


def source_row(table: Table, source: Source) -> Row:
    return Row(
        table,
        layout.source(source.key),
        codec.dump(source),
        source.revision - 1,
        {
            "st": {"S": source.state.value},
            "gsi1pk": {"S": layout.source_listing(source.key.tenant)},
            "gsi1sk": {"S": source.key.source_id},
        },
    )


def trust_change_row(table: Table, tenant: str | None, change: TrustChange) -> Row:
    at = change.at.astimezone(UTC).strftime("%Y%m%dT%H%M%S%f")
    position = f"{at}#{table.new_token()[:12]}"
    key = layout.trust_change(tenant or "", change.about, position)
    return Row(table, key, codec.dump(change), 0)


def source_change_row(table: Table, key: SourceKey, change: SourceChange) -> Row:
    return Row(table, layout.source_change(key, change.revision), codec.dump(change), 0)


def drop_row(table: Table, drop: Drop) -> Row:
    """Without the path, which may tell of whom it is: whoever asks for a drop names it."""
    bare = replace(
        drop,
        name="",
        object=drop.object and replace(drop.object, key=""),
        sidecar=drop.sidecar and replace(drop.sidecar, key=""),
    )
    return Row(table, layout.drop(drop.source, drop.name), codec.dump(bare), drop.revision - 1)


def named_drop(stored: Drop, name: str) -> Drop:
    key = object_keys.incoming(stored.source, name)
    return replace(
        stored,
        name=name,
        object=stored.object and replace(stored.object, key=key),
        sidecar=stored.sidecar and replace(stored.sidecar, key=key + SIDECAR_SUFFIX),
    )


def build_row(table: Table, build: IndexBuild) -> Row:
    return Row(table, layout.build(build.key), codec.dump(build), build.revision - 1)


def erasure_row(table: Table, erasure: Erasure, expected: int) -> Row:
    key = layout.erasure(erasure.key.tenant, erasure.erasure_id)
    return Row(table, key, codec.dump(erasure), expected)


def policy_row(table: Table, digest: str, envelope: Envelope) -> Row:
    return Row(table, layout.policy(digest), codec.dump(envelope), 0)
