"""Vectors of a version in the model that is wanted: stored ones, or made now and stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from custody.application.evidence_files import (
    PART_CHUNKS,
    check_vectors,
    encode_vectors,
    read_vectors,
    rows_of,
)
from custody.application.ports import Embedder, Matrix, ObjectStore, VersionReads
from custody.domain.ledger.transitions import keeps_nothing
from custody.domain.model import Chunk, DocumentKey, VersionRecord
from custody.domain.storage import object_keys
from custody.domain.text.embedding_text import embedding_text
from custody.errors import IntegrityError


@dataclass(frozen=True, slots=True)
class Vectors:
    """``embedders``: those that are at hand, asked only where no vectors are stored. Whoever erases
    or lets go of a version writes its record before its files are deleted. So the record is read
    again once something was stored, and what came too late is taken back."""

    ledger: VersionReads
    objects: ObjectStore
    embedders: Callable[[], Sequence[Embedder]]

    def of(
        self,
        record: VersionRecord,
        chunks: Sequence[Chunk],
        model_revision: str,
        before_each: Callable[[], None],
    ) -> Matrix:
        """Shape (chunks, dimensions). ``before_each``: called before anything is stored. Raises
        IntegrityError(vectors-missing) where there are none and the model isn't at hand, or the version
        has ended."""
        parts = range(record.parts_total)
        found = [self._part(record, chunks, part, model_revision, before_each) for part in parts]
        if sum(len(part) for part in found) != len(chunks):
            raise IntegrityError("Parts of the version are missing.", code="parts-missing")
        return np.concatenate(found)

    def _part(
        self,
        record: VersionRecord,
        chunks: Sequence[Chunk],
        part: int,
        model_revision: str,
        before_each: Callable[[], None],
    ) -> Matrix:
        rows = rows_of(record, part)
        try:
            return read_vectors(self.objects, record, part, rows, model_revision)
        except IntegrityError as error:
            embedder = self._embedder(model_revision)
            if error.code != "vectors-missing" or embedder is None:
                raise
        first = part * PART_CHUNKS
        texts = [embedding_text(chunk) for chunk in chunks[first : first + rows]]
        made = check_vectors(embedder.embed_passages(texts), rows)
        before_each()
        self.objects.put(
            object_keys.vectors(record.key, record.version, model_revision, part),
            encode_vectors(made),
            content_type="application/octet-stream",
        )
        if self.is_over(record):
            self.take_back(record.key, record.version, model_revision)
            raise IntegrityError("The version has ended.", code="vectors-missing")
        return made

    def is_over(self, record: VersionRecord) -> bool:
        """Nothing of it is kept any more."""
        now = self.ledger.version(record.key, record.version)
        return now is None or keeps_nothing(now)

    def take_back(self, key: DocumentKey, version: int, model_revision: str) -> None:
        """All parts of one model."""
        part = object_keys.vectors(key, version, model_revision, 0)
        self.objects.delete(part.rpartition("/")[0] + "/")

    def _embedder(self, model_revision: str) -> Embedder | None:
        return next((each for each in self.embedders() if each.revision == model_revision), None)
