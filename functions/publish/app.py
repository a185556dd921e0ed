"""Publish jobs: a whole batch is signed and indexed, refreshed once, and made live. What an earlier
step refused is closed here too: only this role may say it of a head. What was superseded moves into
the history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from custody import bootstrap
from custody.application.failure import Failure, collecting
from custody.batches import JobBatches
from custody.bootstrap import Service
from custody.domain.jobs import CleanupJob, PublishJob, RejectJob

type Sent = PublishJob | RejectJob | CleanupJob


def publish(service: Service, jobs: Sequence[Sent]) -> Iterable[Failure[Sent]]:
    closed = service.close_rejected([job for job in jobs if isinstance(job, RejectJob)])
    published = service.publish([job for job in jobs if isinstance(job, PublishJob)])
    left: list[Failure[Sent]] = []
    for job in jobs:
        if isinstance(job, CleanupJob):
            with collecting(left, job):
                service.clean_up_superseded(job)
    return (*closed, *published, *left)


def count(job: Sent) -> Mapping[str, float]:
    if isinstance(job, RejectJob):
        return {"VersionRejected": 1}
    if isinstance(job, CleanupJob):
        return {}
    return {"AclPublished" if job.acl_revision else "VersionPublished": 1}


batches: JobBatches[Service, Sent] = JobBatches(
    "publish",
    (PublishJob, RejectJob, CleanupJob),
    publish,
    count,
    use_cases=lambda service: (
        service.close_rejected,
        service.publish,
        service.clean_up_superseded,
    ),
)
handler = batches.handler(bootstrap.service)
