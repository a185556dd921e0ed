"""Break each promise once, and watch the test that is named for it fail.

    python -m tests.mutate            every mutation of tests/mutations.toml
    python -m tests.mutate sidecar    those whose promise or file holds the word

Each mutation is made in a copy of the working tree. It is **killed** when the changed module still
imports and the named test fails by an assertion. Everything else fails the run: **survived** (the
test passes), **stale** (the code is not there, or not once), **broken** (the module doesn't import, or the
test ends in another way, or is not there).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "tests/mutations.toml"
CODE = ("layers/core", "cli", "local")
SHARED = (".venv", ".local")  # what is installed and built, used as it is
BY_ASSERTION = re.compile(r"^E +(?:AssertionError|assert |Failed: )", re.MULTILINE)
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Mutation:
    """``test``: a file and a test function. ``before`` stands once in ``file``."""

    promise: str
    file: str
    before: str
    after: str
    test: str


def listed(words: Sequence[str] = ()) -> list[Mutation]:
    found = [Mutation(**each) for each in tomllib.loads(LISTED.read_text("utf-8"))["mutation"]]
    return [
        one for one in found if all(word in f"{one.promise} {one.file}".lower() for word in words)
    ]


@contextmanager
def copied() -> Iterator[Path]:
    """The working tree's files, as git knows them, in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as made:
        folder = Path(made)
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout.decode()
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        for name in SHARED:
            (folder / name).symlink_to((ROOT / name).resolve())
        yield folder


def judged(mutation: Mutation, folder: Path) -> str:
    place = folder / mutation.file
    text = place.read_text("utf-8")
    if text.count(mutation.before) != 1 or mutation.before == mutation.after:
        return "stale"
    place.write_text(text.replace(mutation.before, mutation.after), "utf-8")
    try:
        return _judged(mutation, folder)
    finally:
        place.write_text(text, "utf-8")


def _judged(mutation: Mutation, folder: Path) -> str:
    if _run(folder, "-c", f"import {_module(mutation.file)}").returncode:
        return "broken"
    file, _, function = mutation.test.partition("::")
    told = _run(
        folder, "-m", "pytest", "-q", "-x", "--tb=short", "-p", "no:cacheprovider", "-p", "no:randomly",
        f"{file}::{function}",
    )  # fmt: skip
    if told.returncode == 0:
        return "survived"
    return "killed" if told.returncode == 1 and BY_ASSERTION.search(told.stdout) else "broken"


def _module(file: str) -> str:
    for folder in CODE:
        if file.startswith(f"{folder}/"):
            return file.removeprefix(f"{folder}/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")  # fmt: skip
    raise SystemExit(f"{file} is in none of {', '.join(CODE)}.")


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(str(folder / code) for code in CODE)
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def main() -> int:
    mutations = listed([word.lower() for word in sys.argv[1:]])
    workers = min(os.cpu_count() or 1, 4)
    folders: SimpleQueue[Path] = SimpleQueue()
    ends: list[str] = []

    def judge(mutation: Mutation) -> str:
        folder = folders.get()
        try:
            return judged(mutation, folder)
        finally:
            folders.put(folder)

    with copied() as first:
        for number in range(workers):
            folder = first / f".copy-{number}"
            shutil.copytree(first, folder, symlinks=True, ignore=shutil.ignore_patterns(".copy-*"))
            folders.put(folder)
        with ThreadPoolExecutor(workers) as pool:
            for mutation, end in zip(mutations, pool.map(judge, mutations), strict=True):
                ends.append(end)
                print(f"{end:<8}  {mutation.promise}  ({mutation.test})", flush=True)
    killed = ends.count("killed")
    print(f"{killed} of {len(ends)} killed")
    return 0 if ends and killed == len(ends) else 1


if __name__ == "__main__":
    raise SystemExit(main())
