"""Publish jobs: a whole batch is signed and indexed, refreshed once, and made live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from custody import bootstrap
from custody.application.failure import Failure
from custody.batches import JobBatches
from custody.bootstrap import Service
from custody.domain.jobs import PublishJob


def publish(service: Service, jobs: Sequence[PublishJob]) -> Iterable[Failure[PublishJob]]:
    return service.publish(jobs)


def count(job: PublishJob) -> Mapping[str, float]:
    return {"AclPublished" if job.acl_revision else "VersionPublished": 1}


batches = JobBatches("publish", PublishJob, publish, count)
handler = batches.handler(bootstrap.service)
