"""A function reads the variables that the template sets, and no others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.settings import SETTINGS_OF_FUNCTION, variables_of
from custody_local.paths import ROOT
from tests.architecture.template_facts import functions, variables

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
