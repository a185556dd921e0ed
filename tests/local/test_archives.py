"""Layers go to the local AWS as archives that were made here, and say the same."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from custody_local import archives, template
from custody_local.paths import ROOT

LAYERS = {"CoreLayer": "core", "EmbeddingsLayer": "embeddings", "ParsersLayer": "parsers"}


@pytest.fixture
def deployed(tmp_path: Path) -> Path:
    """The project's template as SAM has built it, with a file in each layer."""
    text = (ROOT / "template.yaml").read_text()
    for layer, source in LAYERS.items():
        text = text.replace(f"ContentUri: layers/{source}\n", f"ContentUri: {layer}\n")
        (tmp_path / layer / "python").mkdir(parents=True)
        (tmp_path / layer / "python" / "module.py").write_text(f'"""{layer}."""\n')
    path = tmp_path / "deployed.yaml"
    path.write_text(text)
    return path


def contents(path: Path) -> dict[str, object]:
    layers = template.resources(template.load(path), "AWS::Serverless::LayerVersion")
    return {name: told["ContentUri"] for name, told in layers.items()}


def test_each_layer_is_named_by_its_archive_and_nothing_else_changes(deployed: Path) -> None:
    before = deployed.read_text().splitlines(keepends=True)
    archives.pack_layers(deployed)
    after = deployed.read_text().splitlines(keepends=True)
    assert contents(deployed) == {layer: f"{layer}.zip" for layer in LAYERS}
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == len(LAYERS)
    for layer in LAYERS:
        with zipfile.ZipFile(deployed.parent / f"{layer}.zip") as archive:
            assert archive.read("python/module.py").decode() == f'"""{layer}."""\n'


def test_an_archive_stays_as_it_is(deployed: Path) -> None:
    archives.pack_layers(deployed)
    once = deployed.read_text()
    archives.pack_layers(deployed)
    assert deployed.read_text() == once


def test_the_same_files_give_the_same_archive_whenever_they_were_written(tmp_path: Path) -> None:
    folder = tmp_path / "layer"
    folder.mkdir()
    for name in ("b.py", "a.py"):
        (folder / name).write_text(name)
    (folder / "a.py").chmod(0o755)
    first = archives.pack(folder).read_bytes()
    os.utime(folder / "a.py", (0, 10**9))
    archive = archives.pack(folder)
    assert archive.read_bytes() == first
    with zipfile.ZipFile(archive) as opened:
        assert opened.namelist() == ["a.py", "b.py"]
        assert opened.getinfo("a.py").external_attr >> 16 & 0o777 == 0o755
        assert opened.getinfo("a.py").compress_type == zipfile.ZIP_STORED
