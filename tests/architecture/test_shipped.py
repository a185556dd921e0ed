"""The core layer ships what a function can reach, and nothing else."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from custody_local.paths import ROOT
from tests.support.scripts import load_script

CORE = ROOT / "layers" / "core"
# Started as a program of its own.
STARTED = {"custody.adapters.parsers.worker": CORE / "custody/adapters/parsers/isolation.py"}
UNREACHED = {
    "custody.domain.ranking.metrics": "evaluation will use it; until then benchmarks do",
    "custody.http.openapi": "makes docs/openapi.json of the same tables that handlers run from",
}


def shipped() -> dict[str, Path]:
    """Module to file."""
    found = {}
    for path in (CORE / "custody").rglob("*.py"):
        parts = path.relative_to(CORE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = shipped()


def imported(path: Path) -> Iterator[str]:
    """Modules of the package that the file imports, inside functions too, but not for types only:
    those are not there when it runs."""
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for body in node.body
        for inner in ast.walk(body)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            names = {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
        else:
            continue
        for name in names & MODULES.keys():
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def reachable() -> set[str]:
    waiting = [*(ROOT / "functions").glob("*/*.py"), *(MODULES[name] for name in STARTED)]
    found = set(STARTED)
    while waiting:
        for name in imported(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(MODULES[name])
    return found


def test_every_module_that_is_shipped_can_be_reached_from_a_function() -> None:
    assert MODULES.keys() - reachable() == UNREACHED.keys()


def test_what_is_started_as_a_program_is_named_where_it_is_started() -> None:
    for name, path in STARTED.items():
        assert f'"{name}"' in path.read_text("utf-8")
        assert path in {MODULES[found] for found in reachable()}


def test_the_layer_s_own_files_are_the_package_and_the_default_policies(tmp_path: Path) -> None:
    builder = load_script(ROOT / "layers" / "build_layer.py", "build_layer")
    builder.own_files("core", tmp_path)
    built = {str(path.relative_to(tmp_path)) for path in builder.files(tmp_path)}
    policies = {path for path in built if path.endswith("/default.json")}
    assert policies == {f"custody/policies/{name}/default.json" for name in ("gate", "reputation")}
    modules = {str(path.relative_to(CORE)) for path in MODULES.values()}
    assert {path for path in built if path.endswith(".py")} == modules
    assert built - policies - modules <= {"custody/py.typed"}


@pytest.mark.parametrize("other", ["", "second"])
def test_a_second_model_lies_beside_the_first_where_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    builder = load_script(ROOT / "layers" / "build_layer.py", "build_layer")
    for model in ("first", "second"):
        folder = tmp_path / ".local/models" / model
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(model)
    asked: list[str] = []

    def build_model(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command[2])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(builder, "ROOT", tmp_path)
    monkeypatch.setattr(builder.subprocess, "run", build_model)
    monkeypatch.setenv("CUSTODY_MODEL", "first")
    monkeypatch.setenv("CUSTODY_OTHER_MODEL", other)
    builder.own_files("embeddings", tmp_path / "python")
    packages = {"custody_model": "first"} | ({"custody_other_model": other} if other else {})
    assert asked == list(packages.values())
    assert {path.name for path in (tmp_path / "python").iterdir()} == packages.keys()
    for package, model in packages.items():
        assert (tmp_path / "python" / package / "MODEL").read_text() == f"{model}\n"
        assert (tmp_path / "python" / package / "manifest.json").read_text() == model
