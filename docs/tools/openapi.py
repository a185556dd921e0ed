"""Write docs/openapi.json from the endpoints of all functions, or check it with --check."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from custody.http.api import Api, Endpoint
from custody.http.openapi import document

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "docs" / "openapi.json"


def endpoints() -> Iterator[tuple[str, Endpoint[Any]]]:
    """Every endpoint of every function that serves HTTP, with the function's name."""
    for path in sorted((ROOT / "functions").glob("*/app.py")):
        spec = importlib.util.spec_from_file_location(f"openapi_{path.parent.name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        api = getattr(module, "api", None)
        if isinstance(api, Api):
            for endpoint in api.endpoints:
                yield path.parent.name, endpoint


def build() -> dict[str, Any]:
    return document(endpoints(), title="Custody", version="1")


def text() -> str:
    return json.dumps(build(), indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    made = text()
    if "--check" in arguments:
        if TARGET.read_text("utf-8") == made:
            return 0
        print("docs/openapi.json is out of date: run python docs/tools/openapi.py", file=sys.stderr)
        return 1
    TARGET.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
