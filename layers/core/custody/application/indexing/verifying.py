"""Compare one index with the whole ledger, and take the corpus snapshot on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import batched

from custody.application.indexing.belonging import belongings
from custody.application.indexing.copying import Copying, Target
from custody.application.indexing.lease import Lease
from custody.application.ports import RebuildableIndex
from custody.domain.index.builds import Pass
from custody.domain.model import DocumentKey, Head
from custody.domain.provenance import snapshot

_COUNTED = 100


@dataclass(frozen=True, slots=True)
class _Expected:
    """A version that the index has to show. ``since``: when it came to belong there."""

    version: int
    chunks: int
    chunk_root: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Verifying:
    index: RebuildableIndex
    copying: Copying

    def __call__(
        self, target: Target, heads: Sequence[Head], lease: Lease, current: Pass
    ) -> tuple[Pass, int]:
        """(the pass with these heads in it, chunks that had to be put). What is missing is mended,
        what should not be there is taken out. A version that came to belong there since the pass
        began is not held against the pass: one of another model comes by a job of its own."""
        written = 0
        for some in batched(heads, _COUNTED):
            counted = self.index.counts_in(target.space, target.name, [h.key for h in some])
            for head in some:
                held = {version: n for (key, version), n in counted.items() if key == head.key}
                expected = self._expected(target, head)
                if held != {each.version: each.chunks for each in expected}:
                    missing = [each for each in expected if held.get(each.version) != each.chunks]
                    late = any(_before(each.since, current.began_at) for each in missing)
                    current = replace(current, late=current.late + late)
                    written += self._mend(target, head.key, lease)
                    after = self.copying.ledger.head(head.key)
                    expected = () if after is None else self._expected(target, after)
                current = _counted(current, head.key, expected)
        return current, written

    def _expected(self, target: Target, head: Head) -> Sequence[_Expected]:
        """Of the live versions the head says all. Who is on the way, or on the way out, may be
        there and need not."""
        if not target.space.history:
            live = _Expected(
                head.version, head.chunk_count, head.chunk_root or "", head.recorded_at
            )
            return (live,) if head.version else ()
        if head.accepted_version <= 1:
            return ()
        return [
            _Expected(
                each.record.version,
                each.record.chunk_count,
                each.record.chunk_root or "",
                each.record.superseded_at,
            )
            for each in belongings(self.copying.ledger, target.space, head)
        ]

    def _mend(self, target: Target, key: DocumentKey, lease: Lease) -> int:
        lease.open([key])
        return self.copying(target, [key], lease)


def _before(since: datetime | None, moment: datetime) -> bool:
    return since is None or since < moment


def _counted(current: Pass, key: DocumentKey, versions: Sequence[_Expected]) -> Pass:
    total = current.sum
    for each in versions:
        total = snapshot.added(total, key.document_id, each.version, each.chunk_root)
    return replace(
        current,
        versions=current.versions + len(versions),
        chunks=current.chunks + sum(each.chunks for each in versions),
        sum=total,
    )
