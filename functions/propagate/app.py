"""Erase and clean-up jobs: out of the index and the bucket, verified by reading back."""

from __future__ import annotations

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.batches import Batches, job_of
from custody.bootstrap import Service
from custody.domain.jobs import CleanupJob, EraseJob


def propagate(service: Service, record: SQSRecord) -> None:
    job = job_of(record.body, EraseJob, CleanupJob)
    if isinstance(job, EraseJob):
        service.propagate_erasure(job)
    else:
        service.clean_up_superseded(job)


batches = Batches(
    "propagate",
    propagate,
    use_cases=lambda service: (service.propagate_erasure, service.clean_up_superseded),
)
handler = batches.handler(bootstrap.service)
