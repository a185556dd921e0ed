"""The OpenAPI 3.1 document of a set of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from custody.http.api import Route
from custody.http.body import Body
from custody.http.problem import PROBLEM_TYPE

type Json = dict[str, Any]


class Problem(Body):
    """RFC 9457. ``code`` is stable; ``field`` names what is at fault, where something is."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None
    trace_id: str


def document(routes: Iterable[tuple[str, Route[Any]]], *, title: str, version: str) -> Json:
    """``routes``: each with the name of the function that serves it, which becomes its tag.

    Raises ValueError when two functions serve one route.
    """
    ordered = sorted(routes, key=lambda item: (item[1].path, item[1].method))
    models = _models(route for _, route in ordered)
    refs, definitions = models_json_schema(models, ref_template="#/components/schemas/{model}")
    paths: dict[str, Json] = {}
    for function, route in ordered:
        operations = paths.setdefault(route.path, {})
        if route.method.lower() in operations:
            raise ValueError(f"{route.method} {route.path} is served twice")
        operations[route.method.lower()] = _operation(function, route, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(definitions.get("$defs", {}).items())),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


def _models(routes: Iterable[Route[Any]]) -> Sequence[tuple[type[BaseModel], JsonSchemaMode]]:
    found: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(Problem, "serialization"): None}
    for route in routes:
        if route.request is not None:
            found[route.request, "validation"] = None
        for given in route.replies.values():
            found[given, "serialization"] = None
    return list(found)


type _Refs = Mapping[tuple[Any, JsonSchemaMode], Json]


def _operation(function: str, route: Route[Any], refs: _Refs) -> Json:
    operation: Json = {
        "operationId": _name(route.call),
        "summary": route.summary,
        "tags": [function],
        "responses": _responses(route, refs),
    }
    parameters = [*_path_parameters(route), *_query_parameters(route), *_header_parameters(route)]
    if parameters:
        operation["parameters"] = parameters
    if route.request is not None:
        schema = refs[route.request, "validation"]
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    if not route.anonymous:
        operation["security"] = [{"bearer": [route.scope.value] if route.scope else []}]
    return operation


def _name(call: object) -> str:
    return str(getattr(call, "__name__", "operation"))


def _responses(route: Route[Any], refs: _Refs) -> Json:
    answers: Json = {
        str(status): {
            "description": _DESCRIPTIONS.get(status, "The answer."),
            "content": {"application/json": {"schema": refs[model, "serialization"]}},
        }
        for status, model in sorted(route.replies.items())
    }
    answers["default"] = {
        "description": "A problem: see its code.",
        "content": {PROBLEM_TYPE: {"schema": refs[Problem, "serialization"]}},
    }
    return answers


_DESCRIPTIONS = {
    200: "Done.",
    201: "Created.",
    202: "Accepted, and not finished yet.",
    204: "Done, nothing to say.",
    503: "A dependency is not available.",
}


def _path_parameters(route: Route[Any]) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]


def _query_parameters(route: Route[Any]) -> list[Json]:
    if route.query is None:
        return []
    schema = route.query.model_json_schema(mode="validation")
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": {key: value for key, value in field.items() if key != "title"},
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _header_parameters(route: Route[Any]) -> list[Json]:
    return [
        {"name": name, "in": "header", "required": required, "schema": {"type": "string"}}
        for name, required in route.headers.items()
    ]
