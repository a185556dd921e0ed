"""Load a function's ``app.py`` as Lambda would."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]


def load(function: str) -> ModuleType:
    """The module; its ``api`` or ``batches`` make a handler of any service."""
    path = ROOT / "functions" / function / "app.py"
    name = f"function_{function}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def event(name: str) -> dict[str, Any]:
    """``events/<name>.json``."""
    loaded: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8"))
    return loaded


def events(function: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "events" / function).glob("*.json"))
