"""Load a function's ``app.py`` as Lambda would, with chosen use cases behind it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import custody

ROOT = Path(__file__).parents[2]


def load(monkeypatch: pytest.MonkeyPatch, function: str, **factories: Any) -> ModuleType:
    """``factories``: what ``bootstrap`` offers to this function, name to callable."""
    monkeypatch.setattr(custody, "bootstrap", SimpleNamespace(**factories), raising=False)
    path = ROOT / "functions" / function / "app.py"
    spec = importlib.util.spec_from_file_location(f"function_{function}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def event(name: str) -> dict[str, Any]:
    """``events/<name>.json``."""
    loaded: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8"))
    return loaded


def events(function: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "events" / function).glob("*.json"))
