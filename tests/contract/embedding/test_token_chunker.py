"""Chunks fit the model with title and heading, lose nothing, and never part a character."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from custody.adapters.token_chunker import TokenChunker
from custody.application.ports import Block, ParsedDocument
from custody.domain.model import Chunk
from custody.domain.text.embedding_model import EmbeddingModel
from custody.domain.text.embedding_text import embedding_text
from custody.errors import ConfigurationError, Rejected

PROSE = (
    "The index proposes and the ledger decides. A statement is signed over the root of all chunks; "
    "what was erased is hidden at once.\n\nNothing unsigned is served. "
)

type Count = Callable[[str], int]


class Cut(Protocol):
    def __call__(
        self, *blocks: str | Block, title: str | None = None, parsed_title: str | None = None
    ) -> tuple[Chunk, ...]: ...


@pytest.fixture(scope="module")
def chunker(model: EmbeddingModel) -> TokenChunker:
    return TokenChunker(model)


@pytest.fixture(scope="module")
def count(model: EmbeddingModel) -> Count:
    tokenizer = Tokenizer.from_file(model.tokenizer_file)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda text: len(tokenizer.encode(model.passage_prefix + text).ids)


@pytest.fixture
def cut(chunker: TokenChunker) -> Cut:
    def cut(
        *blocks: str | Block, title: str | None = None, parsed_title: str | None = None
    ) -> tuple[Chunk, ...]:
        parsed = ParsedDocument(
            tuple(block if isinstance(block, Block) else Block(block) for block in blocks),
            title=parsed_title,
        )
        return chunker.chunk(parsed, document_id="doc", version=3, title=title)

    return cut


def test_a_short_text_is_one_chunk_as_it_is(cut: Cut) -> None:
    (chunk,) = cut("  Just this. ", title="Name")
    assert (chunk.document_id, chunk.version, chunk.ordinal) == ("doc", 3, 0)
    assert (chunk.title, chunk.heading, chunk.page) == ("Name", None, None)
    assert chunk.text == "Just this."


def test_every_chunk_fits_with_its_title_and_heading(cut: Cut, count: Count) -> None:
    chunks = cut(Block(PROSE * 60, heading="A heading of some words"), title="The title of it")
    assert len(chunks) > 5
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.title == "The title of it" for chunk in chunks)
    assert all(count(embedding_text(chunk)) <= 256 for chunk in chunks)
    # Nor are they needlessly small.
    assert sum(count(embedding_text(chunk)) for chunk in chunks[:-1]) > 180 * (len(chunks) - 1)


def test_neighbours_overlap_and_nothing_is_lost(cut: Cut) -> None:
    words = [f"w{number}" for number in range(3_000)]
    chunks = cut(" ".join(words))
    seen = [chunk.text.split() for chunk in chunks]
    assert {word for chunk in seen for word in chunk} == set(words)
    for before, after in pairwise(seen):
        assert 0 < len(set(before) & set(after)) <= 32


def test_pages_and_headings_are_kept_and_never_mixed(cut: Cut) -> None:
    chunks = cut(
        Block("one", page=1),
        Block("two", page=2),
        Block("three", heading="H", page=2),
        Block("four", heading="H", page=2),
    )
    assert [(chunk.page, chunk.heading, chunk.text) for chunk in chunks] == [
        (1, None, "one"),
        (2, None, "two"),
        (2, "H", "three\n\nfour"),
    ]


def test_the_callers_title_wins_over_the_documents(cut: Cut) -> None:
    assert cut("x", title="Given", parsed_title="Found")[0].title == "Given"
    assert cut("x", parsed_title="Found")[0].title == "Found"


def test_nothing_hides_in_a_title(cut: Cut) -> None:
    assert cut("x", title="Re\u202eport\n\u200bof\u2066 May")[0].title == "Report of May"


@pytest.mark.parametrize(
    "title", ["word " * 5_000, "檢索增強生成" * 500, "a" * 10_000, "👩‍👩‍👧‍👦" * 900]
)
def test_an_absurd_title_is_cut_and_leaves_room_for_text(
    cut: Cut, count: Count, title: str
) -> None:
    chunks = cut(Block(PROSE * 10, heading=title), title=title)
    shown = chunks[0].title
    assert shown is not None
    assert 0 < len(shown) < 1_000
    assert title.startswith(shown)
    assert max(count(embedding_text(chunk)) for chunk in chunks) <= 256
    assert max(len(chunk.text) for chunk in chunks) > 300


@pytest.mark.parametrize(
    "text",
    [
        "檢索增強生成把證據交給語言模型，並說明每一條的來源。" * 300,
        "การค้นหาด้วยหลักฐานที่ลงนามแล้ว" * 300,
        "👩‍👩‍👧‍👦" * 3_000,
        "a\u0301e\u0300" * 4_000,
        "x" * 30_000,
        "! " * 20_000,
        "नमस्ते दुनिया " * 2_000,
    ],
)
def test_no_script_is_cut_inside_a_character(cut: Cut, count: Count, text: str) -> None:
    chunks = cut(text)
    assert len(chunks) > 1
    for chunk in chunks:
        assert count(embedding_text(chunk)) <= 256
        assert len(chunk.text) <= 2_048
        assert not unicodedata.combining(chunk.text[0])
        assert chunk.text[0] != "\u200d"
        assert chunk.text[-1] != "\u200d"
    kept = "".join(dict.fromkeys("".join(chunk.text for chunk in chunks)))
    assert set(kept) == set(text) - ({" "} if " " not in kept else set())


@pytest.mark.parametrize("text", ["", " \n\t", "\u2003\u00a0", "\n" * 100_000])
def test_text_without_a_letter_is_empty(cut: Cut, text: str) -> None:
    with pytest.raises(Rejected) as refused:
        cut(text, title="A title alone is no evidence")
    assert refused.value.code == "empty-document"


@pytest.mark.parametrize("text", ["a" * 20_000_000, "! " * 5_000_000, PROSE * 80_000])
def test_what_has_too_many_chunks_is_refused_before_it_is_cut(cut: Cut, text: str) -> None:
    started = time.process_time()
    with pytest.raises(Rejected) as refused:
        cut(text)
    assert refused.value.code == "too-many-chunks"
    assert time.process_time() - started < 30


def test_exactly_the_limit_of_chunks_is_taken(model: EmbeddingModel) -> None:
    chunker = TokenChunker(model, max_chunks=3)
    rows = [Block("text", heading=f"row {number}") for number in range(4)]
    assert len(
        chunker.chunk(ParsedDocument(tuple(rows[:3])), document_id="d", version=1, title=None)
    )
    with pytest.raises(Rejected) as refused:
        chunker.chunk(ParsedDocument(tuple(rows)), document_id="d", version=1, title=None)
    assert refused.value.code == "too-many-chunks"


def test_a_text_longer_than_a_piece_loses_nothing_at_the_seam(cut: Cut) -> None:
    words = [f"word{number}" for number in range(30_000)]
    chunks = cut(" ".join(words))
    assert {word for chunk in chunks for word in chunk.text.split()} == set(words)


def test_the_same_text_gives_the_same_chunks(model: EmbeddingModel) -> None:
    parsed = ParsedDocument((Block(PROSE * 50),))
    one, two = (
        TokenChunker(model).chunk(parsed, document_id="d", version=1, title="t") for _ in range(2)
    )
    assert one == two


def test_the_version_names_what_decides_the_cut(
    model: EmbeddingModel, chunker: TokenChunker
) -> None:
    assert chunker.version.startswith("semantic-text-splitter@")
    assert ";tokens=256;overlap=32;tokenizer=" + model.tokenizer_sha256[:12] in chunker.version
    assert TokenChunker(model, overlap=16).version != chunker.version


def test_parameters_that_leave_no_room_are_refused(model: EmbeddingModel) -> None:
    with pytest.raises(ConfigurationError):
        TokenChunker(model, chunk_tokens=32)
    with pytest.raises(ConfigurationError):
        TokenChunker(model, overlap=200)


@settings(max_examples=60, deadline=None)
@given(text=st.text(min_size=1, max_size=4_000), title=st.text(max_size=200))
def test_any_text_fits_and_keeps_its_characters(
    minilm: EmbeddingModel, text: str, title: str
) -> None:
    chunker = TokenChunker(minilm)
    tokenizer = chunker._tokenizer
    parsed = ParsedDocument((Block(text),))
    if not text.strip():
        with pytest.raises(Rejected):
            chunker.chunk(parsed, document_id="d", version=1, title=title)
        return
    chunks = chunker.chunk(parsed, document_id="d", version=1, title=title)
    kept = {character for chunk in chunks for character in chunk.text}
    assert {each for each in text if not each.isspace()} <= kept
    for chunk in chunks:
        assert len(tokenizer.encode(embedding_text(chunk)).ids) <= 256
