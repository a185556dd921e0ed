"""Erase and clean-up jobs: out of the index and the bucket, verified by reading back."""

from __future__ import annotations

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.batches import Batches, job_of
from custody.domain.jobs import CleanupJob, EraseJob


def propagate(record: SQSRecord) -> None:
    bootstrap.propagate()(job_of(record.body, EraseJob, CleanupJob))


handler = Batches("propagate", propagate)
