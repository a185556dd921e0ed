"""Embed jobs: up to 32 chunks become vectors."""

from __future__ import annotations

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.adapters.sqs_jobs import decode
from custody.batches import Batches
from custody.domain.jobs import EmbedJob
from custody.errors import IntegrityError


def embed(record: SQSRecord) -> None:
    job = decode(record.body)
    if not isinstance(job, EmbedJob):
        raise IntegrityError("The job is another queue's.", code="malformed-job")
    bootstrap.embed()(job)


handler = Batches("embed", embed)
