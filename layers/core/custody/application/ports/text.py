"""What is done with text: parsed, cut into chunks, embedded, judged by a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from custody.domain.index.candidates import Vector
from custody.domain.model import Chunk

type Matrix = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Vectors are float32 and L2-normalised. Raises Unavailable(code="model-unavailable")."""

    @property
    def revision(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    def embed_query(self, text: str) -> Vector:
        """Shape (dimensions,)."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimensions); a batch of one or many gives the same to 1e-5."""
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of parsed text with where it stood. ``page`` counts from 1."""

    text: str
    heading: str | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    blocks: tuple[Block, ...]
    title: str | None = None
    signals: tuple[str, ...] = ()
    active_content_removed: bool = False
    media_type: str = "text/plain"
    parser: str = ""


class Parser(Protocol):
    def parse(self, content: bytes, *, content_type: str, name: str) -> ParsedDocument:
        """Raises Rejected with a stable code (empty-document, encrypted-pdf, malformed-pdf,
        type-mismatch, invalid-utf8, document-too-complex, too-much-text, …). ``content_type`` is
        sniffed against the bytes."""
        ...


class Chunker(Protocol):
    @property
    def version(self) -> str: ...
    def chunk(
        self, parsed: ParsedDocument, *, document_id: str, version: int, title: str | None
    ) -> tuple[Chunk, ...]:
        """Raises Rejected(code="too-many-chunks"), Rejected(code="empty-document")."""
        ...


class Reranker(Protocol):
    """Judges verified evidence by the question. Raises Unavailable."""

    @property
    def name(self) -> str:
        """Under which a reputation policy keeps the bounds of its scores: another model or prompt
        has another name."""
        ...

    def rerank(self, question: str, items: Sequence[Chunk]) -> Sequence[float]:
        """One finite score for each item, in their order; higher is better."""
        ...
