"""The built models. ``make model`` and ``make model MODEL=e5-small-v2`` put them there."""

from __future__ import annotations

from pathlib import Path

import pytest

from custody.adapters.model_manifest import load_model
from custody.adapters.onnx_embedder import OnnxEmbedder
from custody.domain.text.embedding_model import EmbeddingModel

_MODELS = Path(__file__).parents[3] / ".local" / "models"


def _model(name: str) -> EmbeddingModel:
    folder = _MODELS / name
    if not (folder / "manifest.json").is_file():
        pytest.skip(f"the model {name} isn't built: make model MODEL={name}")
    return load_model(folder)


@pytest.fixture(scope="session")
def minilm() -> EmbeddingModel:
    return _model("minilm")


@pytest.fixture(scope="session")
def e5() -> EmbeddingModel:
    return _model("e5-small-v2")


@pytest.fixture(scope="session", params=["minilm", "e5-small-v2"])
def model(request: pytest.FixtureRequest) -> EmbeddingModel:
    return _model(request.param)


@pytest.fixture(scope="session")
def embedder(model: EmbeddingModel) -> OnnxEmbedder:
    return OnnxEmbedder(model)
