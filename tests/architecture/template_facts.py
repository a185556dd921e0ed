"""The template as the architecture tests read it, with its layers and functions by name."""

from __future__ import annotations

from functools import cache
from typing import Any

from custody_local import template
from custody_local.paths import ROOT

type Properties = dict[str, Any]


@cache
def document() -> dict[str, Any]:
    return template.load(ROOT / "template.yaml")


def of_type(kind: str) -> dict[str, Properties]:
    return template.resources(document(), kind)


def functions() -> dict[str, Properties]:
    """By folder name, with the Globals merged in."""
    shared = document()["Globals"]["Function"]
    found = {}
    for properties in of_type("AWS::Serverless::Function").values():
        variables = shared["Environment"]["Variables"] | properties.get("Environment", {}).get(
            "Variables", {}
        )
        merged = shared | properties | {"Environment": {"Variables": variables}}
        found[folder(properties)] = merged
    return found


def folder(function: Properties) -> str:
    return str(function["CodeUri"]).strip("/").rpartition("/")[2]


def variables(function: Properties) -> dict[str, Any]:
    told: dict[str, Any] = function["Environment"]["Variables"]
    return told


def statements(function: Properties) -> list[dict[str, Any]]:
    """Every statement of the function's own policies, those under conditions included."""
    return [s for policy in function.get("Policies", []) for s in _statements(policy)]


def _statements(policy: Any) -> list[dict[str, Any]]:
    if isinstance(policy, dict) and "Statement" in policy:
        found = policy["Statement"]
        return found if isinstance(found, list) else [found]
    if isinstance(policy, dict) and "Fn::If" in policy:
        return [s for branch in policy["Fn::If"][1:] for s in _statements(branch)]
    return []


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def referenced(value: Any) -> str:
    """The logical id that a Ref or a GetAtt names."""
    if "Ref" in value:
        return str(value["Ref"])
    return str(value["Fn::GetAtt"][0])
