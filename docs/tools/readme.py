"""Run what README says under "Keep a stack running and call it", in its order, in one shell.

    .venv/bin/python docs/tools/readme.py

The console lines run with ``set -e``; the Python block runs with ``api_url`` and ``token`` of the same
stack, before the stack is stopped. Exits with the status of the first command that fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECTION = "## Keep a stack running and call it"
STOP = "make down"
PYTHON_BLOCK = """
API_URL="$API" TOKEN="$TOKEN" .venv/bin/python - <<'README'
import os
api_url, token = os.environ["API_URL"], os.environ["TOKEN"]
{code}
print("from Python:", answer["verdict"], answer["gate"]["reasons"])
README
"""


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(console: str) -> list[str]:
    """Lines after ``$ ``, each with its continuation lines."""
    found: list[str] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append(line[2:])
        elif found and found[-1].endswith("\\"):
            found[-1] += f"\n{line}"
    return found


def script(readme: str) -> str:
    """Raises ValueError when the section or its parts are missing."""
    _, found, rest = readme.partition(SECTION)
    section = rest.partition("\n## ")[0]
    console = [line for block in blocks(section, "console") for line in commands(block)]
    python = blocks(section, "python")
    if not found or STOP not in console or len(python) != 1:
        raise ValueError(f"README has no whole section {SECTION!r}.")
    console.remove(STOP)
    body = "\n".join([*console, PYTHON_BLOCK.format(code=python[0])])
    return f"set -eu\ntrap '{STOP}' EXIT\nset -x\n{body}"


def main() -> int:
    text = script((ROOT / "README.md").read_text(encoding="utf-8"))
    return subprocess.run(["bash", "-c", text], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
