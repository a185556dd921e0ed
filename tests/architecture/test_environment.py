"""A function reads the variables that the template sets, and no others."""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from pydantic_settings import BaseSettings

from custody import settings
from custody.application.ports import Chunker, Embedder
from custody.bootstrap import Service
from custody.bootstrap.environment import EnvironmentLimits, EnvironmentPorts
from custody.settings import SETTINGS_OF_FUNCTION, Environment, variables_of
from custody_local.paths import ROOT
from tests.architecture.roles import ROLES
from tests.architecture.template_facts import functions, variables
from tests.support.functions import load
from tests.support.ingest_world import BlockChunker, WordEmbedder

FUNCTIONS = functions()
# Passes the system's own PATH on to a child that gets nothing else.
PASSES_ON = "layers/core/custody/adapters/parsers/isolation.py"
# Read by libraries in the handler's process, not by ours.
OF_LIBRARIES = ("POWERTOOLS_", "AWS_XRAY_", "OMP_", "PYTHON")


def test_every_function_folder_is_deployed_and_states_what_it_reads() -> None:
    folders = {p.parent.name for p in (ROOT / "functions").glob("*/app.py")}
    assert folders == FUNCTIONS.keys() == SETTINGS_OF_FUNCTION.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_template_sets_what_the_function_reads_and_nothing_else(name: str) -> None:
    told = {v for v in variables(FUNCTIONS[name]) if not v.startswith(OF_LIBRARIES)}
    assert told == variables_of(name)


def environment_readers(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"}:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            names = {alias.name for alias in node.names} & {"environ", "getenv", "environb"}
            if names:
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_only_the_settings_read_the_environment() -> None:
    product = [*(ROOT / "layers/core/custody").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
    readers = [place for path in product for place in environment_readers(path)]
    assert [place for place in readers if not place.startswith(f"{PASSES_ON}:")] == []


# --- what a function's use cases read -----------------------------------------------------------

VALUES = {
    "CUSTODY_TRUST_TABLE": "trust",
    "CUSTODY_REVOCATIONS_TABLE": "revocations",
    "CUSTODY_BUILDS_TABLE": "builds",
    "CUSTODY_REBUILD_QUEUE_URL": "https://sqs.example/rebuild",
    "CUSTODY_INDEX_KEY_ARN": "arn:aws:kms:us-east-1:0:key/index",
    "CUSTODY_OTHER_MODEL": "",
    "CUSTODY_LEDGER_TABLE": "ledger",
    "CUSTODY_WORK_TABLE": "work",
    "CUSTODY_TRACES_TABLE": "traces",
    "CUSTODY_TRACE_DAYS": "30",
    "CUSTODY_IDEMPOTENCY_TABLE": "idempotency",
    "CUSTODY_SUPERSEDED_RETENTION_DAYS": "30",
    "CUSTODY_BUCKET": "evidence",
    "CUSTODY_INDEX_PREFIX": "stack",
    "CUSTODY_OPENSEARCH_URL": "http://127.0.0.1:1",
    "CUSTODY_OPENSEARCH_AUTH": "none",
    "CUSTODY_OPENSEARCH_CLUSTER_UUID": "",
    "CUSTODY_MODEL": "minilm",
    "CUSTODY_LEG_WEIGHTS": "semantic=1,lexical=1",
    "CUSTODY_SIGNING_KEY_ARN": "arn:aws:kms:us-east-1:1:key/ingestion",
    "CUSTODY_POLICY_KEY_ARN": "arn:aws:kms:us-east-1:1:key/policy",
    "CUSTODY_PARSE_QUEUE_URL": "http://127.0.0.1:1/parse",
    "CUSTODY_EMBED_QUEUE_URL": "http://127.0.0.1:1/embed",
    "CUSTODY_PUBLISH_QUEUE_URL": "http://127.0.0.1:1/publish",
    "CUSTODY_ERASE_QUEUE_URL": "http://127.0.0.1:1/erase",
    "CUSTODY_ISSUER": "http://127.0.0.1:1",
    "CUSTODY_AUDIENCE": "custody",
    "CUSTODY_JWKS_URL": "",
    "CUSTODY_TENANT_CLAIM": "tenant",
    "CUSTODY_MAX_TOKEN_AGE_SECONDS": "3600",
    "CUSTODY_MAX_OBJECT_BYTES": "50000000",
    "CUSTODY_PUBLISH_WAIT_SECONDS": "15",
}


class Watched:
    """A group of settings that keeps the names of the variables that were taken from it."""

    def __init__(self, group: BaseSettings, read: set[str]) -> None:
        self._group, self._read = group, read

    def __getattr__(self, name: str) -> Any:
        fields = type(self._group).model_fields
        # a property stands for all that its group holds
        self._read |= {f"CUSTODY_{f.upper()}" for f in ([name] if name in fields else fields)}
        return getattr(self._group, name)


class WatchedEnvironment(Environment):
    def __init__(self) -> None:
        super().__init__()
        self.read: set[str] = set()

    def __call__(self, group: Any) -> Any:
        return Watched(super().__call__(group), self.read)


class PortsWithoutModel(EnvironmentPorts):
    """The model's files are in the embeddings layer only; what is read for them is its name."""

    @property
    def chunker(self) -> Chunker:
        assert self._env(settings.ModelSettings).model
        return BlockChunker()

    @property
    def other_embedder(self) -> Embedder | None:
        assert not self._env(settings.OtherModelSettings).other_model
        return None

    @property
    def embedder(self) -> Embedder:
        assert self._env(settings.ModelSettings).model
        return WordEmbedder()


def is_service(node: ast.AST) -> bool:
    """``service``, or ``service()`` where the function gets one that makes it."""
    if isinstance(node, ast.Call) and not node.args:
        node = node.func
    return isinstance(node, ast.Name) and node.id == "service"


def asked_of_the_service(tree: ast.AST, module: ModuleType) -> set[str]:
    """Names of the attributes of ``service``, those that a function of ours takes included."""
    asked = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_service(node.value):
            asked.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = getattr(module, node.func.id, None)
            if (
                any(is_service(argument) for argument in node.args)
                and isinstance(called, FunctionType)
                and called.__module__.startswith("custody.")
            ):
                there = import_module(called.__module__)
                asked |= asked_of_the_service(ast.parse(inspect.getsource(called)), there)
    return asked


def asked_by(name: str) -> set[str]:
    module = load(name)
    asked = asked_of_the_service(ast.parse(inspect.getsource(module)), module)
    if hasattr(module, "api"):  # what the edge itself asks
        asked.add("clock")
        if not all(endpoint.anonymous for endpoint in module.api.endpoints):
            asked.add("max_token_age")
    return asked


def read_by(name: str, index: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The variables that the function's use cases read, from an environment of its own ones."""
    for variable in [v for v in os.environ if v.startswith("CUSTODY_")]:
        monkeypatch.delenv(variable)
    own = {"CUSTODY_INDEX": index, "CUSTODY_EMBEDDED_INDEX_PATH": str(folder / "index"), **VALUES}
    for variable in variables_of(name):
        monkeypatch.setenv(variable, own[variable])
    environment = WatchedEnvironment()
    service = Service(PortsWithoutModel(environment), EnvironmentLimits(environment))
    for attribute in asked_by(name):
        getattr(service, attribute)
    return environment.read


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_functions_settings_are_those_that_its_use_cases_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    read = {
        variable
        for index in ("opensearch", "embedded")
        for variable in read_by(name, index, tmp_path, monkeypatch)
    }
    if any("table/revocations" in resources for resources in ROLES[name].values()):
        read.add("CUSTODY_REVOCATIONS_TABLE")  # opened by the first read of what governs
    assert read == variables_of(name)
