"""Parse jobs: pinned bytes become canonical chunks."""

from __future__ import annotations

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.batches import Batches, job_of
from custody.bootstrap import Service
from custody.domain.jobs import ParseJob


def parse(service: Service, record: SQSRecord) -> None:
    service.parse(job_of(record.body, ParseJob))


batches = Batches("parse", parse, use_cases=lambda service: service.parse)
handler = batches.handler(bootstrap.service)
