"""Publish jobs: a whole batch is signed and indexed, refreshed once, and made live. What an earlier
step refused is closed here too: only this role may say it of a head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from custody import bootstrap
from custody.application.failure import Failure
from custody.batches import JobBatches
from custody.bootstrap import Service
from custody.domain.jobs import PublishJob, RejectJob

type Sent = PublishJob | RejectJob


def publish(service: Service, jobs: Sequence[Sent]) -> Iterable[Failure[Sent]]:
    closed = service.close_rejected([job for job in jobs if isinstance(job, RejectJob)])
    published = service.publish([job for job in jobs if isinstance(job, PublishJob)])
    return (*closed, *published)


def count(job: Sent) -> Mapping[str, float]:
    if isinstance(job, RejectJob):
        return {"VersionRejected": 1}
    return {"AclPublished" if job.acl_revision else "VersionPublished": 1}


batches: JobBatches[Service, Sent] = JobBatches(
    "publish",
    (PublishJob, RejectJob),
    publish,
    count,
    use_cases=lambda service: (service.close_rejected, service.publish),
)
handler = batches.handler(bootstrap.service)
