"""Embed jobs: the parts of a batch become vectors in one call of the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from custody import bootstrap
from custody.application.failure import Failure
from custody.batches import JobBatches
from custody.bootstrap import Service
from custody.domain.jobs import EmbedJob


def embed(service: Service, jobs: Sequence[EmbedJob]) -> Iterable[Failure[EmbedJob]]:
    return service.embed(jobs)


batches = JobBatches("embed", (EmbedJob,), embed, use_cases=lambda service: service.embed)
handler = batches.handler(bootstrap.service)
