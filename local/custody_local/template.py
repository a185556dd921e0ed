"""Read a CloudFormation template as plain data: ``!Ref X`` is ``{"Ref": "X"}``, and so on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """SafeLoader, and CloudFormation's short forms."""


def _short_form(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    else:
        raise TypeError(f"an unknown kind of YAML node: {node!r}")
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    name = suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}"
    return {name: value}


yaml.add_multi_constructor("!", _short_form, Loader=_Loader)


def load(path: Path) -> dict[str, Any]:
    document = yaml.load(path.read_text(), Loader=_Loader)  # noqa: S506 - derives from SafeLoader
    if not isinstance(document, dict):
        raise TypeError(f"{path} holds no template")
    return document


def resources(document: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """Properties by logical id of all resources of a type."""
    return {
        name: resource.get("Properties", {})
        for name, resource in document["Resources"].items()
        if resource["Type"] == kind
    }
