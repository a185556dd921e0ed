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


def role(function: Properties) -> Properties:
    return of_type("AWS::IAM::Role")[referenced(function["Role"])]


def statements(function: Properties) -> list[dict[str, Any]]:
    """Every statement of the function's own role, those under conditions included."""
    return [
        statement
        for policy in role(function)["Policies"]
        for each in policy["PolicyDocument"]["Statement"]
        for statement in (each["Fn::If"][1:] if "Fn::If" in each else [each])
        if statement != {"Ref": "AWS::NoValue"}
    ]


def mappings() -> dict[str, Properties]:
    """By the function that takes the queue's messages."""
    logical = {
        name: folder(properties)
        for name, properties in of_type("AWS::Serverless::Function").items()
    }
    found = of_type("AWS::Lambda::EventSourceMapping").values()
    return {logical[referenced(each["FunctionName"])]: each for each in found}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def referenced(value: Any) -> str:
    """The logical id that a Ref or a GetAtt names."""
    if "Ref" in value:
        return str(value["Ref"])
    return str(value["Fn::GetAtt"][0])
