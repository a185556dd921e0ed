"""The one text that stands for a chunk, for the embedder and for the keyword index alike."""

from __future__ import annotations

from custody.domain.model import Chunk


def embedding_text(chunk: Chunk) -> str:
    """Title, heading and text on lines of their own; a heading that repeats the title once."""
    heading = chunk.heading if chunk.heading != chunk.title else None
    return "\n".join(part for part in (chunk.title, heading, chunk.text) if part)
