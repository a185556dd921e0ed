"""Erase and clean-up jobs: out of the index and the bucket, verified by reading back."""

from __future__ import annotations

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.adapters.sqs_jobs import decode
from custody.batches import Batches
from custody.domain.jobs import CleanupJob, EraseJob
from custody.errors import IntegrityError


def propagate(record: SQSRecord) -> None:
    job = decode(record.body)
    if not isinstance(job, EraseJob | CleanupJob):
        raise IntegrityError("The job is another queue's.", code="malformed-job")
    bootstrap.propagate()(job)


handler = Batches("propagate", propagate)
