"""Publish jobs: a whole batch is signed and indexed, refreshed once, and made live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from custody import bootstrap
from custody.application.failure import Failure
from custody.batches import JobBatches
from custody.domain.jobs import PublishJob


def publish(jobs: Sequence[PublishJob]) -> Iterable[Failure[PublishJob]]:
    return bootstrap.publish()(jobs)


def count(job: PublishJob) -> Mapping[str, float]:
    return {"AclPublished" if job.acl_revision else "VersionPublished": 1}


handler = JobBatches("publish", PublishJob, publish, count)
