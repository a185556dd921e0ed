"""The OpenAPI 3.1 document of a set of endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from custody.http.api import Endpoint
from custody.http.problem import PROBLEM_TYPE
from custody.http.schemas.problem import Problem

type Json = dict[str, Any]


def document(endpoints: Iterable[tuple[str, Endpoint[Any]]], *, title: str, version: str) -> Json:
    """``endpoints``: each with the name of the function that serves it, which becomes its tag.

    Raises ValueError when two functions serve one endpoint.
    """
    ordered = sorted(endpoints, key=lambda item: (item[1].path, item[1].method))
    models = _models(endpoint for _, endpoint in ordered)
    refs, definitions = models_json_schema(models, ref_template="#/components/schemas/{model}")
    paths: dict[str, Json] = {}
    for function, endpoint in ordered:
        operations = paths.setdefault(endpoint.path, {})
        if endpoint.method.lower() in operations:
            raise ValueError(f"{endpoint.method} {endpoint.path} is served twice")
        operations[endpoint.method.lower()] = _operation(function, endpoint, refs)
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


def _models(endpoints: Iterable[Endpoint[Any]]) -> Sequence[tuple[type[BaseModel], JsonSchemaMode]]:
    found: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(Problem, "serialization"): None}
    for endpoint in endpoints:
        if endpoint.request is not None:
            found[endpoint.request, "validation"] = None
        for given in endpoint.replies.values():
            found[given, "serialization"] = None
    return list(found)


type _Refs = Mapping[tuple[Any, JsonSchemaMode], Json]


def _operation(function: str, endpoint: Endpoint[Any], refs: _Refs) -> Json:
    operation: Json = {
        "operationId": _name(endpoint.call),
        "summary": endpoint.summary,
        "tags": [function],
        "responses": _responses(endpoint, refs),
    }
    parameters = [
        *_path_parameters(endpoint),
        *_query_parameters(endpoint),
        *_header_parameters(endpoint),
    ]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.request is not None:
        schema = refs[endpoint.request, "validation"]
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    if not endpoint.anonymous:
        # Each of a list of requirements is enough.
        wanted = [[scope.value] for scope in endpoint.scopes] or [[]]
        operation["security"] = [{"bearer": scopes} for scopes in wanted]
    return operation


def _name(call: object) -> str:
    return str(getattr(call, "__name__", "operation"))


def _responses(endpoint: Endpoint[Any], refs: _Refs) -> Json:
    answers: Json = {
        str(status): {
            "description": _DESCRIPTIONS.get(status, "The answer."),
            "content": {"application/json": {"schema": refs[model, "serialization"]}},
        }
        for status, model in sorted(endpoint.replies.items())
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


def _path_parameters(endpoint: Endpoint[Any]) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ]


def _query_parameters(endpoint: Endpoint[Any]) -> list[Json]:
    if endpoint.query is None:
        return []
    schema = endpoint.query.model_json_schema(mode="validation")
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": {key: value for key, value in field.items() if key != "title"},
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _header_parameters(endpoint: Endpoint[Any]) -> list[Json]:
    return [
        {"name": name, "in": "header", "required": required, "schema": {"type": "string"}}
        for name, required in endpoint.headers.items()
    ]
