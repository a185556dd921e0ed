"""Text to vectors with an ONNX encoder: mean pooling over the tokens, then the L2 norm.

Pooling follows Reimers and Gurevych, "Sentence-BERT" (2019): the mean of the last hidden states.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from custody.application.ports import Matrix
from custody.domain.index.candidates import Vector
from custody.domain.text.embedding_model import EmbeddingModel
from custody.errors import ConfigurationError, IntegrityError, Unavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


class OnnxEmbedder:
    """``Embedder`` on onnxruntime. Loads on first use; safe to call from several threads.

    Each text is a run of its own on one thread, and runs go side by side: nothing is padded, a
    vector depends on its own text alone (a dynamically quantized model scales by the whole
    batch), and threads don't wait for each other within a layer. On full chunks that gives a
    fifth more texts a second than runs that use all threads (benchmarks/README.md).

    ``threads``: how many runs at once; the available cores where None.
    """

    def __init__(self, model: EmbeddingModel, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ConfigurationError("An embedder needs at least one thread.", field="threads")
        self._model = model
        self._workers = ThreadPoolExecutor(  # starts a thread when it is needed first
            threads or _available_cores(), thread_name_prefix="embedder"
        )
        self._loading = Lock()

    @property
    def revision(self) -> str:
        return self._model.revision

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([self._model.query_prefix + text])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return self._embed([self._model.passage_prefix + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> Matrix:
        vectors: Matrix = np.empty((len(texts), self.dimensions), dtype=np.float32)
        if not texts:
            return vectors
        encoded = [each.ids for each in self._tokenizer.encode_batch_fast(list(texts))]
        if len(encoded) == 1:
            vectors[0] = self._run(encoded[0])
        else:
            # The longest first, so that none of them is left for the end.
            order = sorted(range(len(encoded)), key=lambda place: -len(encoded[place]))
            ran = self._workers.map(self._run, [encoded[place] for place in order])
            for place, vector in zip(order, ran, strict=True):
                vectors[place] = vector
        if not np.isfinite(vectors).all():
            raise IntegrityError("The model gave a non-finite vector.", code="invalid-vector")
        return vectors

    def _run(self, tokens: Sequence[int]) -> Vector:
        ids = np.array([tokens], dtype=np.int64)
        offered = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        session = self._session
        try:
            (hidden,) = session.run(
                [self._model.output],
                {each.name: offered[each.name] for each in session.get_inputs()},
            )
        except Exception as error:  # onnxruntime raises its own untyped errors
            raise Unavailable("The embedding model failed.", code="model-unavailable") from error
        pooled: Vector = hidden[0].mean(axis=0)
        if pooled.shape != (self.dimensions,):
            raise IntegrityError(
                f"The model gave {pooled.shape[-1]} dimensions, its manifest says "
                f"{self.dimensions}.",
                code="invalid-vector",
            )
        if self._model.normalize:
            pooled = pooled / np.linalg.norm(pooled)
        return pooled

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        _must_exist(self._model.tokenizer_file)
        tokenizer = Tokenizer.from_file(self._model.tokenizer_file)
        # Tokenizer files bake in the padding and truncation of whoever exported them.
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._model.max_tokens)
        return tokenizer

    @property
    def _session(self) -> InferenceSession:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> InferenceSession:
        # Imported late: a handler that never embeds shouldn't pay for onnxruntime.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        _must_exist(self._model.model_file)
        try:
            session = onnxruntime.InferenceSession(
                self._model.model_file, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises its own untyped errors
            raise Unavailable(
                "The embedding model can't be loaded.", code="model-unavailable"
            ) from error
        known = {"input_ids", "attention_mask", "token_type_ids"}
        if not {each.name for each in session.get_inputs()} <= known:
            raise ConfigurationError("The model wants inputs that a text encoder doesn't have.")
        return session


def _available_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has affinities
        return os.cpu_count() or 1


def _must_exist(path: str) -> None:
    if not Path(path).is_file():
        raise Unavailable("A file of the embedding model is missing.", code="model-unavailable")
