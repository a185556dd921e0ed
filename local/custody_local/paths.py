"""Where things lie in the repository. Everything generated is under ``.local``."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ROOT / ".local"
VENVS = LOCAL / "venvs"
STACK = LOCAL / "stack"
