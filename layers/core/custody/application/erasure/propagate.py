"""Carry an erasure to every place that holds a copy.

What the receipt says was read back, never assumed. Nothing of a version above the erased ones is
touched: the document may have come back meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from custody.application.erasure.places import Place
from custody.application.ports import BuildReads, Clock, ErasureLedger
from custody.domain.jobs import EraseJob
from custody.domain.ledger.erasures import Artifact, Erasure, ErasureLevel, ErasureState
from custody.errors import CustodyError, IntegrityError, Unavailable

INDEX_BUILDS = "index-builds"
"""A location of receipts: whoever builds an index, and may write the document at the moment."""


@dataclass(frozen=True, slots=True)
class PropagateErasure:
    """``places``: in the order in which they are visited."""

    places: Sequence[Place]
    ledger: ErasureLedger
    builds: BuildReads
    clock: Clock

    def __call__(self, job: EraseJob) -> None:
        """Every place is tried, whatever another one did. Raises Unavailable(erasure-partial)
        while any of them is not verified, so that the job is delivered again. A receipt that is
        complete stays as it is: what an upload that began before the request left is deleted."""
        erasure = self.ledger.erasure(job.key.tenant, job.erasure_id)
        if erasure is None:
            raise IntegrityError("There is no such erasure.", code="erasure-missing")
        if job.name is not None:
            erasure = replace(erasure, name=job.name)
        waits = self._is_being_indexed(erasure)
        artifacts = tuple(
            self._attempt(place, erasure) for place in self.places if place.concerns(erasure)
        )
        if waits:
            detail = "An index is being built of the document at this moment."
            busy = Artifact(INDEX_BUILDS, ErasureLevel.HIDDEN, None, detail)
            artifacts = (*artifacts, busy)
        left = [a.location for a in artifacts if a.level is not ErasureLevel.DELETED]
        if erasure.state is not ErasureState.COMPLETE:
            self.ledger.put_erasure(
                replace(
                    erasure,
                    artifacts=artifacts,
                    state=ErasureState.PARTIAL if left else ErasureState.COMPLETE,
                    completed_at=None if left else self.clock.now(),
                    name=erasure.name if left else "",  # found by it until nothing is left
                )
            )
        if left:
            raise Unavailable(
                f"Not verified as deleted yet: {', '.join(left)}.", code="erasure-partial"
            )

    def _is_being_indexed(self, erasure: Erasure) -> bool:
        """Asked before any place is visited. A builder that opens its batch later reads the tombstone
        and writes nothing of the document; whatever one wrote that had closed its batch before, or
        had left off in the middle, is found by the places that follow."""
        now = self.clock.now()
        return any(
            build.names(erasure.key.document_id, now=now)
            for build in self.builds.builds(erasure.key.tenant)
        )

    def _attempt(self, place: Place, erasure: Erasure) -> Artifact:
        try:
            detail = place.erase(erasure)
        except CustodyError as error:
            detail = f"{error.code}: {error.detail}"
            return Artifact(place.name, ErasureLevel.HIDDEN, None, detail)
        return Artifact(place.name, ErasureLevel.DELETED, self.clock.now(), detail)
