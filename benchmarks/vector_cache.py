"""An embedder that remembers its vectors between runs, by model revision and text."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from custody.application.ports import Embedder, Matrix
from custody.domain.index.candidates import Vector


class CachedEmbedder:
    """Behind it stands the product's own embedder; only repeats are spared."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._db = sqlite3.connect(path)
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors (id BLOB PRIMARY KEY, v BLOB)")

    @property
    def revision(self) -> str:
        return self._embedder.revision

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed_query(self, text: str) -> Vector:
        identity = self._identity("query", text)
        found = self._find(identity)
        if found is None:
            found = self._embedder.embed_query(text)
            self._keep([(identity, found)])
        return found

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        identities = [self._identity("passage", text) for text in texts]
        vectors = [self._find(identity) for identity in identities]
        missing = [place for place, vector in enumerate(vectors) if vector is None]
        if missing:
            fresh = self._embedder.embed_passages([texts[place] for place in missing])
            for place, vector in zip(missing, fresh, strict=True):
                vectors[place] = vector
            self._keep([(identities[place], vectors[place]) for place in missing])
        return np.stack([vector for vector in vectors if vector is not None])

    def _identity(self, kind: str, text: str) -> bytes:
        seed = "\0".join((self.revision, kind, text))
        return hashlib.sha256(seed.encode()).digest()

    def _find(self, identity: bytes) -> Vector | None:
        row = self._db.execute("SELECT v FROM vectors WHERE id = ?", (identity,)).fetchone()
        if row is None:
            return None
        return np.frombuffer(row[0], dtype=np.float32)

    def _keep(self, fresh: Sequence[tuple[bytes, Vector | None]]) -> None:
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                [(identity, vector.tobytes()) for identity, vector in fresh if vector is not None],
            )
