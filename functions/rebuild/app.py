"""Rebuild and index jobs: an index made anew, and single versions for indices of another model."""

from __future__ import annotations

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody import bootstrap
from custody.batches import Batches, job_of
from custody.bootstrap import Service
from custody.domain.jobs import IndexJob, RebuildJob


def rebuild(service: Service, record: SQSRecord) -> None:
    job = job_of(record.body, RebuildJob, IndexJob)
    if isinstance(job, RebuildJob):
        service.rebuild(job)
    else:
        service.index_elsewhere(job)


batches = Batches(
    "rebuild",
    rebuild,
    use_cases=lambda service: (service.rebuild, service.index_elsewhere),
)
handler = batches.handler(bootstrap.service)
