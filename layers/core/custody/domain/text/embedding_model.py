"""What the service must know of its embedding model, whichever model it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """One model, as its manifest describes it and with its files checked.

    ``revision`` names the exact weights and tokenizer: vectors of two revisions never mix.
    ``max_tokens`` counts the special tokens too. ``model_file`` and ``tokenizer_file`` are paths.
    """

    name: str
    revision: str
    dimensions: int
    max_tokens: int
    normalize: bool
    output: str
    query_prefix: str
    passage_prefix: str
    model_file: str
    tokenizer_file: str
    tokenizer_sha256: str
