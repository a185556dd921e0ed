"""A model folder is taken only as its manifest describes it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from custody.adapters.model_manifest import load_model
from custody.domain.text.embedding_model import EmbeddingModel
from custody.errors import ConfigurationError, IntegrityError, Unavailable


def _folder(root: Path, **changes: object) -> Path:
    files = {"model.onnx": b"weights", "tokenizer.json": b"{}"}
    for name, content in files.items():
        (root / name).write_bytes(content)
    manifest = {
        "name": "small",
        "revision": "small@1",
        "dimensions": 8,
        "pooling": "mean",
        "normalize": True,
        "max_tokens": 128,
        "query_prefix": "",
        "passage_prefix": "",
        "output": "last_hidden_state",
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        "source": {},
    }
    (root / "manifest.json").write_text(json.dumps(manifest | changes))
    return root


def test_a_model_is_as_its_manifest_says(tmp_path: Path) -> None:
    model = load_model(_folder(tmp_path))
    assert (model.name, model.revision, model.dimensions) == ("small", "small@1", 8)
    assert model.model_file == str(tmp_path / "model.onnx")
    assert model.tokenizer_sha256 == hashlib.sha256(b"{}").hexdigest()


def test_the_built_model_passes_its_own_hashes(model: EmbeddingModel) -> None:
    assert model.dimensions == 384


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_an_altered_file_is_refused(tmp_path: Path, name: str) -> None:
    (_folder(tmp_path) / name).write_bytes(b"other bytes")
    with pytest.raises(IntegrityError) as refused:
        load_model(tmp_path)
    assert refused.value.code == "model-altered"
    assert refused.value.field == name


@pytest.mark.parametrize("name", ["manifest.json", "model.onnx", "tokenizer.json"])
def test_a_missing_file_is_unavailable(tmp_path: Path, name: str) -> None:
    (_folder(tmp_path) / name).unlink()
    with pytest.raises(Unavailable) as unavailable:
        load_model(tmp_path)
    assert unavailable.value.code == "model-unavailable"
    assert str(tmp_path) not in unavailable.value.detail


def test_a_function_that_only_cuts_text_needs_no_weights(tmp_path: Path) -> None:
    (_folder(tmp_path) / "model.onnx").unlink()
    assert load_model(tmp_path, tokenizer_only=True).name == "small"


@pytest.mark.parametrize(
    "changes",
    [
        {"dimensions": "8"},
        {"dimensions": 0},
        {"pooling": "max"},
        {"normalize": "false"},
        {"max_tokens": 10},
        {"files": {"model.onnx": "0" * 64}},
        {"files": {"../model.onnx": "0" * 64, "tokenizer.json": "0" * 64}},
        {"files": {"model.onnx": "short", "tokenizer.json": "0" * 64}},
    ],
)
def test_a_manifest_that_describes_no_model_is_refused(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_model(_folder(tmp_path, **changes))
    assert refused.value.code == "model-manifest-invalid"


def test_a_manifest_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (_folder(tmp_path) / "manifest.json").write_text("{")
    with pytest.raises(ConfigurationError):
        load_model(tmp_path)
