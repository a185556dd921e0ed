"""The committed OpenAPI document is what the handlers serve, and the template routes to them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.scripts import load_script

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_script(ROOT / "docs/tools/openapi.py", "openapi_tool")


@pytest.fixture(scope="module")
def built(tool: ModuleType) -> dict[str, Any]:
    made: dict[str, Any] = tool.build()
    return made


def test_the_committed_document_is_what_the_handlers_serve(tool: ModuleType) -> None:
    assert COMMITTED.read_text("utf-8") == tool.text(), "run: python docs/tools/openapi.py"


def test_the_template_routes_exactly_what_the_functions_serve(built: dict[str, Any]) -> None:
    template = (ROOT / "template.yaml").read_text("utf-8")
    routed = {
        (path, method)
        for path, method in re.findall(r'Type: Api,.*Path: "([^"]+)", Method: (\w+)', template)
    }
    served = {(path, method) for path, methods in built["paths"].items() for method in methods}
    assert routed == served


def test_every_reference_resolves(built: dict[str, Any]) -> None:
    schemas = built["components"]["schemas"]
    names = re.findall(r"#/components/schemas/([^\"]+)", json.dumps(built))
    assert names
    assert set(names) <= set(schemas)
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


def test_each_schema_has_a_name_of_its_own(built: dict[str, Any]) -> None:
    """Where two have one name, they are told apart by their modules."""
    names = built["components"]["schemas"]
    assert not [name for name in names if "__" in name or name.endswith(("-Input", "-Output"))]


def test_each_endpoint_s_models_have_their_home_in_http(tool: ModuleType) -> None:
    models = [
        model
        for _, endpoint in tool.endpoints()
        for model in (endpoint.request, endpoint.query, *endpoint.replies.values())
        if model is not None
    ]
    assert models
    for model in models:
        assert model.__module__.startswith("custody.http.schemas."), model


def test_one_of_the_scopes_of_a_list_suffices(built: dict[str, Any]) -> None:
    """By OpenAPI: of several requirements one must be met, of one requirement every scope."""
    acl = built["paths"]["/documents/{id}/acl"]["put"]
    assert acl["security"] == [{"bearer": ["custody/write"]}, {"bearer": ["custody/govern"]}]
    assert built["paths"]["/drops"]["get"]["security"] == [{"bearer": []}]
    for methods in built["paths"].values():
        for operation in methods.values():
            for requirement in operation.get("security", ()):
                assert len(requirement["bearer"]) <= 1


def test_every_endpoint_but_health_asks_for_a_token(built: dict[str, Any]) -> None:
    for path, methods in built["paths"].items():
        for operation in methods.values():
            assert ("security" in operation) == (path != "/health"), path


def test_operation_ids_are_unique(built: dict[str, Any]) -> None:
    ids = [each["operationId"] for methods in built["paths"].values() for each in methods.values()]
    assert len(ids) == len(set(ids))


def test_every_problem_is_described(built: dict[str, Any]) -> None:
    for methods in built["paths"].values():
        for operation in methods.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_unknown_fields_are_refused_by_the_schemas_too(built: dict[str, Any]) -> None:
    for methods in built["paths"].values():
        for operation in methods.values():
            body = operation.get("requestBody")
            if body is None:
                continue
            reference = body["content"]["application/json"]["schema"]["$ref"]
            schema = built["components"]["schemas"][reference.rsplit("/", 1)[1]]
            assert schema["additionalProperties"] is False
