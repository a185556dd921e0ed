"""README's commands run as they stand (docs/tools/readme.py runs them in CI)."""

from __future__ import annotations

from types import ModuleType

import pytest

from custody_local.paths import ROOT
from tests.support.scripts import load_script


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_script(ROOT / "docs/tools/readme.py", "readme_tool")


def test_the_section_becomes_one_script_that_ends_its_stack(tool: ModuleType) -> None:
    script = tool.script((ROOT / "README.md").read_text(encoding="utf-8"))
    assert script.startswith("set -eu\ntrap 'make down' EXIT\n")
    assert script.index("make up") < script.index("custody ingest") < script.index("curl")
    assert "Client(api_url, token)" in script


def test_a_readme_without_the_section_is_noticed(tool: ModuleType) -> None:
    with pytest.raises(ValueError, match="no whole section"):
        tool.script("# Custody\n")


def test_a_command_over_two_lines_stays_one(tool: ModuleType) -> None:
    assert tool.commands("$ a \\\n    b\nprinted\n$ c") == ["a \\\n    b", "c"]


def test_readme_holds_no_placeholder() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "TRANSCRIPT" not in text
    assert "## Two commands" in text
