"""Put a version into the indices of its space that are of another model than its own.

During a change of models a space has an index of each. A publisher has vectors of one; once its
version is live, this follows with the other, from stored vectors or with the model that is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from custody.application.indexing.copying import Copying, Target
from custody.application.ports import ObjectStore, RebuildableIndex
from custody.domain.index.candidates import Space
from custody.domain.jobs import IndexJob
from custody.domain.ledger import transitions
from custody.domain.storage import object_keys


class Unleased:
    """One document at a time needs no lease: as a publisher does, it takes back what ended while
    it was put, and a delivery that broke off is repeated."""

    def hold(self) -> None:
        """Nothing holds it up."""


@dataclass(frozen=True, slots=True)
class IndexElsewhere:
    index: RebuildableIndex
    objects: ObjectStore
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
        """Vectors that were stored for a version which was erased meanwhile."""
        after = self.copying.ledger.version(job.key, job.version)
        if after is None or transitions.keeps_nothing(after):
            part = object_keys.vectors(job.key, job.version, model_revision, 0)
            self.objects.delete(part.rpartition("/")[0] + "/")
