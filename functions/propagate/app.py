"""Erase jobs: out of the index and the bucket, verified by reading back."""

from __future__ import annotations

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.batches import Batches, job_of
from custody.bootstrap import Service
from custody.domain.jobs import EraseJob


def propagate(service: Service, record: SQSRecord) -> None:
    service.propagate_erasure(job_of(record.body, EraseJob))


batches = Batches("propagate", propagate, use_cases=lambda service: (service.propagate_erasure,))
handler = batches.handler(bootstrap.service)
