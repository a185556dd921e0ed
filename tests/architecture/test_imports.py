"""Who may import whom: pyproject.toml states it, import-linter finds what breaks it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from custody_local.paths import ROOT

FUNCTIONS = sorted((ROOT / "functions").glob("*/*.py"))
OWN = {"custody", "custody_cli", "custody_client", "custody_local"}
# What a handler itself may use; everything else is wired in custody.bootstrap.
ALLOWED = {"custody", "aws_lambda_powertools", "aws_xray_sdk", "pydantic"}


def test_the_layers_import_in_one_direction() -> None:
    tool = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [str(tool), "--no-logo", "--no-cache"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_handler_imports_the_package_and_no_other_function(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules = [node.module or ""]
        for module in modules:
            top = module.partition(".")[0]
            assert top in ALLOWED or top in sys.stdlib_module_names, module


def test_nothing_is_named_like_a_module_of_another_place() -> None:
    # Layers come before a function's code on the path, and the later layer wins.
    layer_modules = OWN | {"custody_model"}
    for path in FUNCTIONS:
        assert path.stem not in layer_modules
