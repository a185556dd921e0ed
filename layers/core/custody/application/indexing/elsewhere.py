"""Put a version into the indices of its space that are of another model than its own.

During a change of models a space has an index of each. A publisher has vectors of one; once its
version is live, this follows with the other, from stored vectors or with the model that is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from custody.application.indexing.copying import Copying, Target
from custody.application.ports import RebuildableIndex
from custody.domain.index.candidates import Space
from custody.domain.jobs import IndexJob
from custody.domain.ledger import transitions


class Unleased:
    """One document at a time needs no lease: as a publisher does, it takes back what ended while
    it was put, and a delivery that broke off is repeated."""

    def hold(self) -> None:
        """Nothing holds it up."""


@dataclass(frozen=True, slots=True)
class IndexElsewhere:
    index: RebuildableIndex
    copying: Copying

    def __call__(self, job: IndexJob) -> None:
        """Whatever of the document belongs there, not this version alone. Raises
        IntegrityError(vectors-missing) where neither vectors nor their model are at hand."""
        record = self.copying.ledger.version(job.key, job.version)
        if record is None:
            return
        for space in (Space.of(job.key), Space.history_of(job.key)):
            found = self.index.generations(space)
            served = next((each.name for each in found if each.served), None)
            for each in found:
                if each.model_revision != record.model_revision:
                    target = Target(space, each.name, each.model_revision, served)
                    self.copying(target, [job.key], Unleased())
                    self._take_back(job, each.model_revision)

    def _take_back(self, job: IndexJob, model_revision: str) -> None:
        """Vectors that a delivery which broke off stored for versions that were erased meanwhile,
        this one or an earlier one."""
        ledger, vectors = self.copying.ledger, self.copying.vectors
        head = ledger.head(job.key)
        erased = 0 if head is None else min(head.erased_through, job.version)
        for version in range(1, erased + 1):
            vectors.take_back(job.key, version, model_revision)
        after = ledger.version(job.key, job.version)
        if after is None or transitions.keeps_nothing(after):
            vectors.take_back(job.key, job.version, model_revision)
