"""S3 events from the ingest queue: what was dropped becomes a version that waits to be parsed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from urllib.parse import unquote_plus

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.application.ingestion.accept_drop import DropEvent
from custody.batches import Batches
from custody.bootstrap import Service
from custody.domain.provenance.canonical import parse_json
from custody.errors import IntegrityError

_TEST_EVENT = "s3:TestEvent"


def _malformed(what: str) -> IntegrityError:
    return IntegrityError(f"The message is no S3 event: {what}.", code="malformed-event")


def _part(value: object, name: str) -> Mapping[str, object]:
    part = value.get(name) if isinstance(value, dict) else None
    if not isinstance(part, dict):
        raise _malformed(f"no {name}")
    return part


def drop_events(body: str, *, bucket: str) -> list[DropEvent]:
    """The events of one message; none for the one that S3 sends to try the queue. Keys come
    URL-encoded and are decoded once. Raises IntegrityError(malformed-event | malformed-json)."""
    message = parse_json(body)
    if not isinstance(message, dict):
        raise _malformed("no object")
    if "Records" not in message:
        if message.get("Event") == _TEST_EVENT:
            return []
        raise _malformed("no Records")
    records = message["Records"]
    if not isinstance(records, list) or not records:
        raise _malformed("no Records")
    return [_drop_event(record, bucket) for record in records]


def _drop_event(record: object, bucket: str) -> DropEvent:
    s3 = _part(record, "s3")
    if _part(s3, "bucket").get("name") != bucket:
        raise _malformed("another bucket")
    found = _part(s3, "object")
    key, sequencer = found.get("key"), found.get("sequencer")
    if not isinstance(key, str) or not key:
        raise _malformed("no key")
    if sequencer is not None and not isinstance(sequencer, str):
        raise _malformed("a wrong sequencer")
    try:
        return DropEvent(unquote_plus(key, errors="strict"), sequencer or None)
    except UnicodeDecodeError:
        raise _malformed("a key that is not UTF-8") from None


def accept(service: Service, record: SQSRecord) -> Mapping[str, float]:
    drops = service.accept_drop
    results = [drops(event) for event in drop_events(record.body, bucket=drops.bucket)]
    return Counter(f"Drop{result.result.value.capitalize()}" for result in results)


batches = Batches("accept", accept, use_cases=lambda service: service.accept_drop)
handler = batches.handler(bootstrap.service)
