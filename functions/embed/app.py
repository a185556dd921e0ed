"""Embed jobs: the parts of a batch become vectors in one call of the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from custody import bootstrap
from custody.application.failure import Failure
from custody.batches import JobBatches
from custody.domain.jobs import EmbedJob


def embed(jobs: Sequence[EmbedJob]) -> Iterable[Failure[EmbedJob]]:
    return bootstrap.embed()(jobs)


handler = JobBatches("embed", EmbedJob, embed)
