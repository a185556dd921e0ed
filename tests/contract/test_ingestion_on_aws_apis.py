"""The ingestion on the real ledger and object store: what is written comes back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from moto import mock_aws

from custody.adapters.dynamodb import DynamoLedger
from custody.adapters.s3_objects import S3Objects
from custody.application.erasure.request import ErasureRequest
from custody.application.ingestion.accept_drop import DropEvent, DropResult
from custody.application.ingestion.change_acl import AclRequest
from custody.domain.jobs import CleanupJob
from custody.domain.ledger.drops import DropState
from custody.domain.ledger.erasures import ErasureState
from custody.domain.model import DocumentKey, SourceKey, VersionState
from custody.domain.provenance.identifiers import drop_document_id
from custody.errors import Unprocessable
from tests.support.ingest_world import (
    START,
    TENANT,
    WRITER,
    FakeClock,
    WorldOn,
    lines,
    principal,
    request,
)
from tests.support.memory_index import MemoryIndex
from tests.support.tables import create_ledger, ledger_on

type World = WorldOn[DynamoLedger, S3Objects, MemoryIndex]

GUIDE = DocumentKey(TENANT, "guide")
WIKI = SourceKey(TENANT, "wiki")
BUCKET = "evidence"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        dynamodb = boto3.client("dynamodb", region_name="us-east-1")
        create_ledger(dynamodb, "custody")
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        world = WorldOn(
            ledger_on(dynamodb, "custody"), S3Objects(s3, BUCKET, FakeClock()), MemoryIndex()
        )
        world.source(mirror_deletes=True, default_acl=("group:staff", "user:bob"))
        yield world


def left() -> list[str]:
    s3 = boto3.client("s3", region_name="us-east-1")
    found = s3.list_object_versions(Bucket=BUCKET)
    return [one["Key"] for one in (*found.get("Versions", ()), *found.get("DeleteMarkers", ()))]


def test_a_document_with_everything_is_published_repeated_and_changed(world: World) -> None:
    full = request(
        text=lines(40),
        title="Überblick",
        acl=("group:staff",),
        valid_from=datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC),
        valid_to=START + timedelta(days=400),
        observed_at=datetime(2026, 2, 1, 8, 30, 0, 250000, tzinfo=UTC),
        metadata={"n": 1, "f": 2.5, "b": True, "s": "x", "l": ["a", "b"]},
    )
    first = world.post_document(WRITER, full)
    assert first.record.state is VersionState.ACTIVE
    assert len(world.served()) == 40
    assert world.post_document(WRITER, full).unchanged
    second = world.post_document(WRITER, request(text="other"))
    assert second.record.version == 2
    assert world.texts() == {"other"}
    world.clean_up_superseded(CleanupJob(GUIDE, 1))
    assert {entry.version for entry in world.index.visible()} == {2}
    with pytest.raises(Unprocessable):
        world.post_document(WRITER, request(text="!reject malformed-pdf"))
    shown = world.documents.show(WRITER, "guide")
    assert [version.state.value for version in shown.versions] == [
        "REJECTED", "ACTIVE", "SUPERSEDED",
    ]  # fmt: skip


def test_access_changes_and_erasure(world: World) -> None:
    world.post_document(WRITER, request(text="secret"))
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    world.work()
    assert world.texts() == set()
    assert world.texts(principal("bob")) == {"secret"}
    erasure = world.erasures.request(WRITER, ErasureRequest("guide", "asked"))
    assert world.texts(principal("bob")) == set()
    world.work()
    told = world.erasures.show(WRITER, erasure.erasure_id)
    assert told.state is ErasureState.COMPLETE
    assert left() == []
    assert world.post_document(WRITER, request(text="secret")).record.version == 2


def test_a_pair_a_broken_sidecar_and_a_deletion(world: World) -> None:
    document = DocumentKey(TENANT, drop_document_id("wiki", "a b/ü.txt"))
    key = f"incoming/{TENANT}/wiki/a b/ü.txt"
    world.deliver(world.drop("a b/ü.txt", b"hello"))
    assert world.texts() == {"hello"}
    broken = world.drop("a b/ü.txt.metadata.json", b"{")
    assert world.deliver(broken)[0].result is DropResult.REJECTED
    assert world.texts() == set()
    world.deliver(
        world.drop("a b/ü.txt.metadata.json", b'{"metadataAttributes": {"acl": ["user:bob"]}}')
    )
    assert world.texts(principal("bob")) == {"hello"}
    drop = world.ledger.drop(WIKI, "a b/ü.txt")
    assert drop is not None
    assert (drop.state, drop.document) == (DropState.ACTIVE, document)
    boto3.client("s3", region_name="us-east-1").delete_object(Bucket=BUCKET, Key=key)
    assert world.deliver(DropEvent(key))[0].result is DropResult.ERASED
    assert world.texts(principal("bob")) == set()
    assert left() == []
