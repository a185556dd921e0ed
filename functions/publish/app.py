"""Publish jobs: a whole batch is signed and indexed, refreshed once, and made live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.adapters.sqs_jobs import decode
from custody.batches import Batches, BatchReply
from custody.domain.jobs import PublishJob
from custody.errors import CustodyError, IntegrityError


def _job(body: str) -> PublishJob:
    job = decode(body)
    if not isinstance(job, PublishJob):
        raise IntegrityError("The job is another queue's.", code="malformed-job")
    return job


def _readable(event: Mapping[str, Any]) -> list[PublishJob]:
    jobs = []
    for record in event.get("Records", ()):
        try:
            jobs.append(_job(str(record.get("body", ""))))
        except IntegrityError:
            continue  # refused and told of below, message by message
    return jobs


def handler(event: Mapping[str, Any], context: Any) -> BatchReply:
    jobs = _readable(event)
    failed: dict[PublishJob, CustodyError] = {}
    if jobs:
        failed = {failure.job: failure.error for failure in bootstrap.publish()(jobs)}

    def report(record: SQSRecord) -> Mapping[str, float]:
        job = _job(record.body)
        if job in failed:
            raise failed[job]
        return {"AclPublished" if job.acl_revision else "VersionPublished": 1}

    return Batches("publish", report)(event, context)
