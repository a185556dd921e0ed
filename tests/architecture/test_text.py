"""What is committed says nothing of the machine it was written on, nor where packages are got."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from custody_local.paths import ROOT

# In pieces, or this file would find itself.
HOSTS = ["pypi" + r"\.org", "python" + r"hosted\.org", r"repo1?\." + "maven", "maven" + r"\.apache"]
HOSTS += [r"maven\." + "org", "registry" + r"\.npmjs", "crates" + r"\.io"]
HOMES = ["/" + "root/", "/" + "home/[a-z]", "/" + "Users/[a-z]", r"(?<!\w)/" + "work/"]
EMULATORS = ["mini" + "stack", "local" + "stack", r"\bmo" + r"to\b"]


def committed() -> list[Path]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    listed = subprocess.run(
        [git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def places(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        text = text_of(path)
        if text is None:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    return found


def test_no_file_names_a_package_registry() -> None:
    assert places(re.compile("|".join(HOSTS), re.IGNORECASE), committed()) == []


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    assert places(re.compile("|".join(HOMES)), committed()) == []


def test_no_build_output_is_committed() -> None:
    limit = 1_000_000
    for path in committed():
        assert not {".venv", ".local", ".aws-sam", "__pycache__"} & set(path.parts)
        assert path.stat().st_size < limit, path


def test_the_product_knows_no_emulator() -> None:
    product = [
        path
        for path in committed()
        if path.relative_to(ROOT).parts[0] in {"layers", "functions", "template.yaml", "policies"}
    ]
    assert product
    assert places(re.compile("|".join(EMULATORS), re.IGNORECASE), product) == []


def test_locks_hold_hashes_and_no_addresses() -> None:
    locks = [p for p in (ROOT / "requirements").glob("*.txt") if not p.name.startswith("drop-")]
    assert len(locks) >= 8
    for lock in locks:
        text = lock.read_text()
        assert "--hash=sha256:" in text
        assert not re.search(r"https?:|--(extra-)?index-url|--find-links|file:", text), lock.name
        pinned = re.findall(r"^([a-z0-9][a-z0-9._-]*(?:\[[^\]]+\])?)==", text, re.MULTILINE)
        assert pinned, lock.name


def test_what_several_locks_hold_they_hold_in_one_version() -> None:
    versions: dict[str, set[str]] = {}
    for name in ("core", "embeddings", "parsers", "runtime", "uv", "dev"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        for package, version in re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE):
            versions.setdefault(package, set()).add(version)
    assert {package: found for package, found in versions.items() if len(found) > 1} == {}
