"""Cut parsed text into chunks that the embedding model can read whole.

Every chunk is embedded with the document's title and its heading, so what is left for its text is
the model's limit less their tokens. The splitter prefers paragraphs, then lines, sentences, words
and grapheme clusters, and never cuts a character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cached_property, lru_cache
from importlib.metadata import version as installed_version
from itertools import groupby
from typing import TYPE_CHECKING

from custody.application.ports import ParsedDocument
from custody.domain.model import Chunk
from custody.domain.text.embedding_model import EmbeddingModel
from custody.domain.text.hygiene import clean_text
from custody.errors import ConfigurationError, Rejected

if TYPE_CHECKING:
    from semantic_text_splitter import TextSplitter
    from tokenizers import Tokenizer

_SPECIAL_TOKENS = 2
# A splitter costs 30 ms and a few MB to make: budgets are rounded down so that few are needed.
_BUDGET_STEP = 8
# A word that the model doesn't know is one token however long it is (a line of base64, a text in
# a script without spaces). Ordinary prose has 3 to 6 characters a token.
_CHARACTERS_A_TOKEN = 8
# The splitter's time grows faster than its input; pieces of this size keep it linear.
_PIECE_CHARACTERS = 100_000
_LIBRARY = "semantic-text-splitter"


class TokenChunker:
    """``Chunker`` on the tokenizer of ``model``.

    ``chunk_tokens``: the limit for title, heading and text together, special tokens included
    (never above the model's own). ``overlap``: tokens that neighbours share at most.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        chunk_tokens: int = 256,
        overlap: int = 32,
        max_chunks: int = 5_000,
    ) -> None:
        self._model = model
        self._limit = min(chunk_tokens, model.max_tokens)
        self._overlap = overlap
        self._max_chunks = max_chunks
        if self._limit < 64 or not 0 <= overlap <= self._limit // 4:
            raise ConfigurationError(
                "A chunk needs 64 tokens or more and an overlap of at most a quarter of them.",
                field="chunk_tokens",
            )
        self._splitter = lru_cache(maxsize=16)(self._make_splitter)

    @cached_property
    def version(self) -> str:
        return (
            f"{_LIBRARY}@{installed_version(_LIBRARY)};tokens={self._limit};"
            f"overlap={self._overlap};tokenizer={self._model.tokenizer_sha256[:12]}"
        )

    def chunk(
        self, parsed: ParsedDocument, *, document_id: str, version: int, title: str | None
    ) -> tuple[Chunk, ...]:
        # A caller's title hasn't been through a parser: nothing that hides may be served in it.
        shown_title = self._cut(clean_text(title or parsed.title or "").text, self._limit // 4)
        chunks: list[Chunk] = []
        for heading, page, text in _sections(parsed):
            shown_heading = self._cut(heading, self._limit // 8)
            context = [shown_title, shown_heading if shown_heading != shown_title else None]
            budget = self._budget(*context)
            self._refuse_if_hopeless(text, budget)
            for piece in self._split(text, budget):
                if len(chunks) == self._max_chunks:
                    raise self._too_many()
                chunks.append(
                    Chunk(
                        document_id=document_id,
                        version=version,
                        ordinal=len(chunks),
                        title=shown_title,
                        heading=shown_heading,
                        page=page,
                        text=piece,
                    )
                )
        if not chunks:
            raise Rejected("The document has no text.", code="empty-document")
        return tuple(chunks)

    def _budget(self, *context: str | None) -> int:
        spent = _SPECIAL_TOKENS + sum(
            self._count(text) for text in (self._model.passage_prefix, *context) if text
        )
        return (self._limit - spent) // _BUDGET_STEP * _BUDGET_STEP

    def _split(self, text: str, budget: int) -> Iterator[str]:
        longest = budget * _CHARACTERS_A_TOKEN
        if len(text) <= longest and self._count(text) <= budget:
            if text.strip():  # the common short text: counting is cheaper than splitting
                yield text.strip()
            return
        for piece in _pieces(text):
            for chunk in self._splitter(budget).chunks(piece):
                if len(chunk) > longest:
                    yield from filter(str.strip, self._by_characters.chunks(chunk))
                elif chunk.strip():
                    yield chunk

    def _refuse_if_hopeless(self, text: str, budget: int) -> None:
        """Counting tokens is several times faster than splitting: see first whether it can fit."""
        if len(text) < 5 * _PIECE_CHARACTERS:
            return
        if len(text) > self._max_chunks * budget * _CHARACTERS_A_TOKEN:
            raise self._too_many()
        tokens = 0
        for piece in _pieces(text):
            tokens += self._count(piece)
            if tokens > self._max_chunks * budget:
                raise self._too_many()

    def _too_many(self) -> Rejected:
        return Rejected(
            f"The document has more than {self._max_chunks} chunks.", code="too-many-chunks"
        )

    def _count(self, text: str) -> int:
        (encoded,) = self._tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return len(encoded.ids)

    def _cut(self, text: str | None, tokens: int) -> str | None:
        """The beginning of ``text`` that has at most that many tokens, on one line."""
        line = " ".join((text or "").split())[: tokens * _CHARACTERS_A_TOKEN]
        encoded = self._tokenizer.encode(line, add_special_tokens=False)
        if len(encoded.ids) > tokens:
            line = _whole_characters(line, encoded.offsets[tokens][0])
        return line.strip() or None

    def _make_splitter(self, budget: int) -> TextSplitter:
        from semantic_text_splitter import TextSplitter

        return TextSplitter.from_huggingface_tokenizer(self._tokenizer, budget, self._overlap)

    @cached_property
    def _by_characters(self) -> TextSplitter:
        from semantic_text_splitter import TextSplitter

        # Half of what prose would fill: one such chunk is one or few tokens to the model anyway.
        return TextSplitter(self._limit * _CHARACTERS_A_TOKEN // 2, self._overlap)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        # Imported late: reading the version of a chunker needs no tokenizer.
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(self._model.tokenizer_file)
        # With a baked-in truncation any text would count as one chunk.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def _sections(parsed: ParsedDocument) -> Iterator[tuple[str | None, int | None, str]]:
    """Neighbouring blocks under one heading on one page, as one text."""
    for (heading, page), blocks in groupby(
        parsed.blocks, key=lambda block: (block.heading, block.page)
    ):
        yield heading, page, "\n\n".join(block.text for block in blocks)


def _pieces(text: str) -> Iterator[str]:
    """``text`` in pieces of bounded size, cut at the best boundary in reach."""
    start = 0
    while len(text) - start > _PIECE_CHARACTERS:
        end = start + _PIECE_CHARACTERS
        reach = start + _PIECE_CHARACTERS * 9 // 10
        for boundary in ("\n\n", "\n", ". ", " "):
            found = text.rfind(boundary, reach, end)
            if found >= 0:
                end = found + len(boundary)
                break
        else:
            end = start + len(_whole_characters(text[start : end + 1], _PIECE_CHARACTERS))
        yield text[start:end]
        start = end
    yield text[start:]


def _whole_characters(text: str, end: int) -> str:
    """``text[:end]``, shortened where the cut would part a mark from what it sits on."""
    cut = end
    while 0 < cut < len(text) and (_joins(text[cut]) or text[cut - 1] == "\u200d"):
        cut -= 1
    return text[:cut] if cut else text[:end]


def _joins(character: str) -> bool:
    """Combining marks, joiners, variation selectors and emoji modifiers."""
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character == "\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
