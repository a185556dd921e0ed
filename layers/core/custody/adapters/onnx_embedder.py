"""Text to vectors with an ONNX encoder: mean pooling over the tokens, then the L2 norm.

Pooling follows Reimers and Gurevych, "Sentence-BERT" (2019): the mean of the last hidden states
where the attention mask is 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from custody.application.ports import Matrix
from custody.domain.embedding_model import EmbeddingModel
from custody.domain.search import Vector
from custody.errors import ConfigurationError, IntegrityError, Unavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

# Measured on full chunks: one or two a run are fastest (the caches hold them), 16 are a quarter
# to a half slower and take 0.9 GB. Short texts share a run up to the same number of tokens.
_TOKENS_A_RUN = 512
_TEXTS_A_RUN = 16


class OnnxEmbedder:
    """``Embedder`` on onnxruntime. Loads on first use; safe to call from several threads.

    ``threads``: how many threads one run uses; all available cores where None.
    """

    def __init__(self, model: EmbeddingModel, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ConfigurationError("An embedder needs at least one thread.", field="threads")
        self._model = model
        self._threads = threads or _available_cores()
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
        encoded = [
            np.asarray(each.ids, dtype=np.int64)
            for each in self._tokenizer.encode_batch_fast(list(texts))
        ]
        for run in self._runs([len(tokens) for tokens in encoded]):
            vectors[run] = self._run([encoded[index] for index in run])
        if not np.isfinite(vectors).all():
            raise IntegrityError("The model gave a non-finite vector.", code="invalid-vector")
        return vectors

    def _runs(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Indices that run together: of similar length, so that little of it is padding."""
        run: list[int] = []
        for index in sorted(range(len(lengths)), key=lengths.__getitem__):
            full = len(run) == (_TEXTS_A_RUN if self._model.batch else 1)
            if run and (full or (len(run) + 1) * lengths[index] > _TOKENS_A_RUN):
                yield run
                run = []
            run.append(index)
        yield run

    def _run(self, batch: Sequence[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> Matrix:
        width = max(len(tokens) for tokens in batch)
        ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros((len(batch), width), dtype=np.int64)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        offered = {
            "input_ids": ids,
            "attention_mask": mask,
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
        weights = mask[:, :, None].astype(np.float32)
        pooled: Matrix = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        if pooled.shape[1] != self.dimensions:
            raise IntegrityError(
                f"The model gave {pooled.shape[1]} dimensions, its manifest says "
                f"{self.dimensions}.",
                code="invalid-vector",
            )
        if self._model.normalize:
            pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
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
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
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
