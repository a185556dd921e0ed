"""What git runs before a commit is what `make lint` runs."""

from __future__ import annotations

import re

import yaml

from custody_local.paths import ROOT


def test_the_hooks_are_the_parts_of_make_lint() -> None:
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"  # nothing is fetched
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}
    rule = re.search(r"^lint: ([^#\n]+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert rule is not None
    assert [hook["entry"] for hook in repository["hooks"]] == [f"make {t}" for t in rule[1].split()]
