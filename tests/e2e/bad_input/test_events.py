"""S3 events that come again, late, in another order or without cause end in the bucket's state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_plus

import pytest

from tests.e2e.bad_input.conftest import WORDS, Canary
from tests.support.service import of, texts, until

KIND = "text/plain"


def event(
    canary: Canary,
    path: str,
    *,
    name: str = "ObjectCreated:Put",
    sequencer: str | None = "0055AED6DCD90281E5",
    source: str = "wiki",
) -> dict[str, Any]:
    """One record as S3 writes it, as far as anything here reads it."""
    told: dict[str, Any] = {
        "key": quote_plus(f"incoming/{canary.tenant}/{source}/{path}", safe="/")
    }
    if sequencer is not None:
        told["sequencer"] = sequencer
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": name,
        "s3": {"bucket": {"name": canary.service.state.bucket}, "object": told},
    }


def deliver(canary: Canary, *bodies: object) -> None:
    """Send each as one message, and wait until the queue has nothing left."""
    sqs, queue = canary.service.aws("sqs"), canary.service.queue("IngestQueue")
    for body in bodies:
        sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(body))

    def drained() -> bool:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        told = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
        return all(int(told[name]) == 0 for name in names)

    until("the ingest queue is empty", drained)


def records(*events: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(events)}


def versions(canary: Canary, document_id: str) -> list[tuple[int, str]]:
    shown = canary.client.get_document(document_id)
    return [(v["version"], v["state"]) for v in shown["versions"]]


@pytest.fixture(autouse=True)
def served(canary: Canary) -> Iterator[None]:
    yield
    assert WORDS in texts(canary.client.search("where does the canary sing"))


def test_replayed_events_make_no_version(canary: Canary) -> None:
    service = canary.service
    version = service.drop(canary.tenant, "wiki", "again.txt", b"The robin came once.", KIND)
    drop = service.dropped(canary.client, "wiki", "again.txt", version)
    one = event(canary, "again.txt", sequencer=None)
    deliver(canary, records(one), records(one, one, one), *[records(one)] * 8)
    assert versions(canary, drop["document_id"]) == [(1, "ACTIVE")]
    found = canary.client.search("how often did the robin come", k=50)
    assert len(of(found, drop["document_id"])) == 1


def test_a_late_event_of_an_earlier_upload_brings_nothing_back(canary: Canary) -> None:
    service = canary.service
    for text in (b"The wren is first.", b"The wren is second."):
        version = service.drop(canary.tenant, "wiki", "order.txt", text, KIND)
        drop = service.dropped(canary.client, "wiki", "order.txt", version)
    deliver(
        canary,
        records(event(canary, "order.txt", sequencer="0000000000000001")),
        records(event(canary, "order.txt", sequencer="FFFFFFFFFFFFFFFF")),
        records(event(canary, "order.txt", sequencer="0000000000000002")),
    )
    assert versions(canary, drop["document_id"]) == [(2, "ACTIVE"), (1, "SUPERSEDED")]
    assert "second" in texts(canary.client.search("which is the wren"))


def test_an_event_that_claims_a_deletion_deletes_nothing_that_is_there(canary: Canary) -> None:
    service = canary.service
    service.source(canary.tenant, "mirror", mirror_deletes=True)
    version = service.drop(canary.tenant, "mirror", "stays.txt", b"The dipper stays.", KIND)
    drop = service.dropped(canary.client, "mirror", "stays.txt", version)
    for name in ("ObjectRemoved:Delete", "ObjectRemoved:DeleteMarkerCreated"):
        gone = event(
            canary, "stays.txt", name=name, source="mirror", sequencer="FFFFFFFFFFFFFFFFFF"
        )
        deliver(canary, records(gone))
    assert versions(canary, drop["document_id"]) == [(1, "ACTIVE")]
    assert "dipper stays" in texts(canary.client.search("who stays"))


def test_an_event_of_an_object_that_never_was_makes_nothing(canary: Canary) -> None:
    before = canary.seen()
    deliver(
        canary,
        records(event(canary, "ghost.txt")),
        records(event(canary, "ghost.txt.metadata.json")),
        records(event(canary, "../wiki/ghost.txt")),
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": canary.service.state.bucket},
    )
    assert canary.client.drops("ghost.txt") == []
    assert canary.seen() == before


def test_a_sidecar_and_its_file_converge_from_events_in_any_order(canary: Canary) -> None:
    service = canary.service
    beside = json.dumps({"metadataAttributes": {"title": "Shrike", "acl": ["group:publishers"]}})
    service.drop(canary.tenant, "wiki", "pair.txt", b"The shrike hoards.", KIND)
    name = "pair.txt.metadata.json"
    service.drop(canary.tenant, "wiki", name, beside.encode(), "application/json")
    deliver(
        canary,
        records(event(canary, name, sequencer=None), event(canary, "pair.txt", sequencer=None)),
        records(event(canary, "pair.txt", sequencer=None)),
        records(event(canary, name, sequencer=None)),
    )
    drop = service.dropped(canary.client, "wiki", "pair.txt")

    def converged() -> bool:
        shown: dict[str, Any] = dict(canary.client.get_document(drop["document_id"]))
        live = shown["version"] == shown["accepted_version"]
        return bool(live and shown["title"] == "Shrike")

    until("the pair is published as it lies in the bucket", converged)
    shown: dict[str, Any] = dict(canary.client.get_document(drop["document_id"]))
    assert shown["acl"] == {"allow": ["group:publishers"]}
