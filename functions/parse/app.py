"""Parse jobs: pinned bytes become canonical chunks."""

from __future__ import annotations

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.adapters.sqs_jobs import decode
from custody.batches import Batches
from custody.domain.jobs import ParseJob
from custody.errors import IntegrityError


def parse(record: SQSRecord) -> None:
    job = decode(record.body)
    if not isinstance(job, ParseJob):
        raise IntegrityError("The job is another queue's.", code="malformed-job")
    bootstrap.parse()(job)


handler = Batches("parse", parse)
