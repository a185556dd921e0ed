"""Pack the built layers before they are deployed, without compressing them.

Left to itself the SAM command compresses each layer on every deployment, on one core, and the
emulator unpacks it for every cold worker. On one machine the bytes travel nowhere.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import yaml

BEGINNING = (1980, 1, 1, 0, 0, 0)  # so that the same files give the same archive


def pack_layers(deployed: Path) -> None:
    """Makes an archive beside each layer's folder that the template ``deployed`` names, and names
    the archive in its place. What is an archive already stays."""
    text = deployed.read_text()
    for place in reversed(list(_contents(yaml.compose(text, yaml.SafeLoader)))):
        folder = deployed.parent / place.value
        if folder.is_dir():
            start, end = place.start_mark.index, place.end_mark.index
            text = text[:start] + pack(folder).name + text[end:]
    deployed.write_text(text)


def pack(folder: Path) -> Path:
    """``folder``.zip, with what lies in it and nothing else."""
    archive = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as output:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), BEGINNING)
            entry.external_attr = path.stat().st_mode << 16
            output.writestr(entry, path.read_bytes())
    return archive


def _contents(root: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """Where the template says what is in each layer, in its order."""
    for resource in _members(_members(root)["Resources"]).values():
        told = _members(resource)
        if told["Type"].value == "AWS::Serverless::LayerVersion":
            content = _members(told["Properties"])["ContentUri"]
            assert isinstance(content, yaml.ScalarNode)
            yield content


def _members(node: yaml.Node | None) -> dict[str, yaml.Node]:
    assert isinstance(node, yaml.MappingNode)
    return {name.value: value for name, value in node.value}
