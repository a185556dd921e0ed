"""Build one layer into the folder that SAM names: dependencies from the lock, trimmed, and ours.

    python build_layer.py core|embeddings|parsers ARTIFACTS_DIR

Environment:
  CUSTODY_LAYER_PLATFORM  x86_64 (default) or arm64: Lambda's Linux; host: this machine's own
  CUSTODY_MODEL           a model of embeddings/models.json (default minilm)
  CUSTODY_OTHER_MODEL     a second one, to build indices of; none by default

Called by `make build-<Layer>Layer` of each layer's Makefile, which `sam build` runs. Installed and
trimmed dependencies are kept under .local/build, so an unchanged lock costs a copy.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

ROOT = Path(__file__).resolve().parent.parent
# Both run on glibc 2.28 and later; Lambda's Python 3.12 has 2.34.
PLATFORMS = {"x86_64": "x86_64-manylinux_2_28", "arm64": "aarch64-manylinux_2_28"}
BUILD_VERSION = "4"  # raise it when the trimming below changes: kept results are keyed by it
MODEL_PACKAGE = (
    '"""The embedding model of this layer: model.onnx, tokenizer.json, manifest.json."""\n'
)

# What the product never imports; checked by the packaging test, which imports every handler.
TRIM_EVERYWHERE = (
    "**/tests",
    "**/test",
    "**/*.pyi",
    "**/*.pyx",
    "**/*.pxd",
    "**/*.h",
    "bin",
    ".lock",
)
TRIM_EVERYWHERE += ("**/__pycache__", "**/*.dist-info/RECORD", "**/*.dist-info/direct_url.json")
TRIM = {
    "core": (
        "numpy/f2py",
        "numpy/_core/include",
        "numpy/_core/lib",
        "numpy/random/lib",
        "numpy/_pyinstaller",
        "numpy/doc",
        "share",
    ),
    "embeddings": (
        "onnxruntime/tools",
        "onnxruntime/transformers",
        "onnxruntime/quantization",
        "onnxruntime/datasets",
        "onnxruntime/backend",
        "onnxruntime/ThirdPartyNotices.txt",
    ),
    "parsers": (),
}


def uv() -> str:
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise SystemExit("uv is missing: run 'make setup' first.")
    return found


def install(lock: Path, target: Path, wanted: str) -> None:
    command = [uv(), "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--target", str(target), "--requirement", str(lock), "--link-mode", "copy"]
    command += ["--python", sys.executable, "--python-version", "3.12", "--only-binary", ":all:"]
    if wanted != "host":
        command += ["--python-platform", PLATFORMS[wanted]]
    subprocess.run(command, check=True)


def trim(folder: Path, layer: str) -> None:
    for pattern in (*TRIM_EVERYWHERE, *TRIM[layer]):
        for path in list(folder.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def precompile(folder: Path, strip: Path) -> None:
    """Lambda's /opt can't be written, so without this each cold start compiles every import.
    Hash-based files stay valid whatever times an archive gives to the sources."""
    done = compileall.compile_dir(
        folder, quiet=2, stripdir=strip, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
    )
    if not done:
        print(f"Not every module of {folder.name} compiles.", file=sys.stderr)


def dependencies(layer: str, wanted: str) -> Path:
    """The folder with the layer's installed, trimmed dependencies."""
    lock = ROOT / "requirements" / f"{layer}.txt"
    recipe = f"{BUILD_VERSION}\n{TRIM_EVERYWHERE}\n{TRIM[layer]}\n".encode()
    key = hashlib.sha256(recipe + lock.read_bytes()).hexdigest()[:16]
    kept = ROOT / ".local" / "build" / "layers" / f"{layer}-{wanted}-{key}"
    if kept.exists():
        return kept
    print(f"Installing the {layer} layer's dependencies for {wanted} ...", file=sys.stderr)
    draft = kept.with_name(f"{kept.name}.{os.getpid()}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    install(lock, draft, wanted)
    trim(draft, layer)
    precompile(draft, draft)
    try:
        draft.replace(kept)
    except OSError:  # another build finished the same folder first
        if not kept.exists():
            raise
        shutil.rmtree(draft)
    return kept


def own_files(layer: str, python: Path) -> None:
    if layer == "core":
        source = ROOT / "layers" / "core" / "custody"
        skip = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(source, python / "custody", ignore=skip)
        # The default policies, which deployment signs.
        for policy in (ROOT / "policies").glob("*/default.json"):
            target = python / "custody" / policy.relative_to(ROOT)
            target.parent.mkdir(parents=True)
            shutil.copyfile(policy, target)
    elif layer == "embeddings":
        add_model(os.environ.get("CUSTODY_MODEL") or "minilm", python / "custody_model")
        other = os.environ.get("CUSTODY_OTHER_MODEL")
        if other:
            add_model(other, python / "custody_other_model")


def add_model(model: str, package: Path) -> None:
    script = ROOT / "layers" / "embeddings" / "build_model.py"
    built = ROOT / ".local" / "models" / model
    cache = ROOT / ".local" / "cache" / "models"
    command = [sys.executable, str(script), model, str(built), "--cache", str(cache)]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
        raise SystemExit(1)
    shutil.copytree(built, package)
    (package / "__init__.py").write_text(MODEL_PACKAGE)
    # Lets a function notice that it was given another model than it is set to use.
    (package / "MODEL").write_text(f"{model}\n")


def files(folder: Path) -> Iterator[Path]:
    return (p for p in folder.rglob("*") if p.is_file())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("layer", choices=sorted(TRIM))
    parser.add_argument("artifacts", type=Path)
    options = parser.parse_args()
    wanted = os.environ.get("CUSTODY_LAYER_PLATFORM") or "x86_64"
    if wanted == "host" and sys.platform == "linux":
        # The same wheels as Lambda's, so that what is tested is what is deployed.
        wanted = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    if wanted != "host" and wanted not in PLATFORMS:
        raise SystemExit(f"CUSTODY_LAYER_PLATFORM={wanted}: use x86_64, arm64 or host.")
    python = options.artifacts / "python"
    shutil.rmtree(python, ignore_errors=True)
    shutil.copytree(dependencies(options.layer, wanted), python)
    own_files(options.layer, python)
    for own in ("custody", "custody_model", "custody_other_model"):
        if (python / own).exists():
            precompile(python / own, python)
    size = sum(p.stat().st_size for p in files(python))
    print(f"{options.layer} layer for {wanted}: {size / 1e6:.1f} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
