"""Vectors of both models: known values, one or many the same, and nothing from altered files."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custody.adapters.onnx_embedder import OnnxEmbedder
from custody.domain.text.embedding_model import EmbeddingModel
from custody.errors import ConfigurationError, CustodyError, IntegrityError, Unavailable

SENTENCE = "That is a happy person"
TEXTS = [
    "",
    "x",
    "That is a very happy person",
    "証拠は署名され、許可され、生きている。",
    "evidence " * 40,
    "Ledger heads decide what is served. " * 30,
    "long " * 1_000,
    *[f"short text number {number} " * (number % 7 + 1) for number in range(40)],
]


def test_the_check_values_of_minilm_come_out(minilm: EmbeddingModel) -> None:
    embedder = OnnxEmbedder(minilm)
    question = embedder.embed_query(SENTENCE)
    others = embedder.embed_passages(
        ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    )
    assert np.allclose(others @ question, [0.696, 0.942, 0.261], atol=0.002)


def test_e5_ranks_the_same_sentences_the_same_way(e5: EmbeddingModel) -> None:
    embedder = OnnxEmbedder(e5)
    question = embedder.embed_query(SENTENCE)
    dog, very, sunny = (
        embedder.embed_passages(
            ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
        )
        @ question
    )
    assert very > dog > sunny


def test_one_or_many_give_the_same_vectors(embedder: OnnxEmbedder) -> None:
    many = embedder.embed_passages(TEXTS)
    alone = np.vstack([embedder.embed_passages([text]) for text in TEXTS])
    turned = embedder.embed_passages(TEXTS[::-1])[::-1]
    assert many.shape == (len(TEXTS), embedder.dimensions)
    assert np.abs(many - alone).max() < 1e-5
    assert np.abs(many - turned).max() < 1e-5


def test_vectors_are_single_precision_of_length_one(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert embedder.embed_query("").shape == (embedder.dimensions,)


def test_no_texts_give_no_vectors(embedder: OnnxEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.dimensions)


def test_what_is_beyond_the_limit_of_the_model_changes_nothing(
    embedder: OnnxEmbedder, model: EmbeddingModel
) -> None:
    long = "evidence " * model.max_tokens
    same = embedder.embed_passages([long, long + "and more"])
    assert np.abs(same[0] - same[1]).max() < 1e-5


def test_prefixes_are_part_of_what_is_embedded(
    model: EmbeddingModel, embedder: OnnxEmbedder
) -> None:
    bare = OnnxEmbedder(dataclasses.replace(model, query_prefix="", passage_prefix=""))
    prefixed = bare.embed_passages([model.query_prefix + SENTENCE, model.passage_prefix + SENTENCE])
    assert np.abs(prefixed[0] - embedder.embed_query(SENTENCE)).max() < 1e-5
    assert np.abs(prefixed[1] - embedder.embed_passages([SENTENCE])[0]).max() < 1e-5


def test_threads_share_one_embedder(embedder: OnnxEmbedder) -> None:
    alone = embedder.embed_passages(TEXTS[:6])
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(embedder.embed_passages, [TEXTS[:6]] * 8))
    assert max(np.abs(each - alone).max() for each in together) < 1e-5


def test_the_revision_is_the_manifests(embedder: OnnxEmbedder, model: EmbeddingModel) -> None:
    assert embedder.revision == model.revision
    assert embedder.dimensions == model.dimensions


@pytest.mark.parametrize("field", ["model_file", "tokenizer_file"])
def test_a_missing_file_is_unavailable(minilm: EmbeddingModel, field: str) -> None:
    elsewhere: dict[str, Any] = {field: "/nowhere/file"}
    broken = OnnxEmbedder(dataclasses.replace(minilm, **elsewhere))
    with pytest.raises(Unavailable) as unavailable:
        broken.embed_query("x")
    assert unavailable.value.code == "model-unavailable"


def test_weights_that_are_no_model_are_unavailable(minilm: EmbeddingModel, tmp_path: Path) -> None:
    weights = tmp_path / "model.onnx"
    weights.write_bytes(b"no model")
    with pytest.raises(Unavailable) as unavailable:
        OnnxEmbedder(dataclasses.replace(minilm, model_file=str(weights))).embed_query("x")
    assert unavailable.value.code == "model-unavailable"


def test_a_manifest_of_other_dimensions_is_caught(minilm: EmbeddingModel) -> None:
    with pytest.raises(IntegrityError) as refused:
        OnnxEmbedder(dataclasses.replace(minilm, dimensions=512)).embed_query("x")
    assert refused.value.code == "invalid-vector"


def test_no_threads_are_refused(minilm: EmbeddingModel) -> None:
    with pytest.raises(ConfigurationError):
        OnnxEmbedder(minilm, threads=0)


def test_every_error_is_ours(minilm: EmbeddingModel) -> None:
    with pytest.raises(CustodyError):
        OnnxEmbedder(dataclasses.replace(minilm, output="no_such_output")).embed_query("x")
