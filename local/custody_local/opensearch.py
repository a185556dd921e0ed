"""A real single-node OpenSearch without Docker: its parts from Maven, run on Java 17 or later."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from custody_local import net, processes
from custody_local.errors import LocalStackError, MissingTool
from custody_local.paths import LOCAL, ROOT
from custody_local.processes import Process
from custody_local.progress import Progress

SOURCES = ROOT / "local" / "opensearch"
DEPENDENCY = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0"
PLUGIN_ZIPS = (
    "org.opensearch.plugin:opensearch-knn:2.19.1.0:zip",
    "org.opensearch.plugin:neural-search:2.19.1.0:zip",
)
HOW_TO_GET = (
    "install a JDK 17 or later and Maven (Debian, Ubuntu: openjdk-17-jdk-headless maven; "
    "macOS: brew install openjdk@17 maven), or name a running node with OPENSEARCH_URL"
)


def missing() -> str | None:
    """What keeps a node from running here, with how to get it; None when nothing does."""
    if shutil.which("mvn") is None:
        return f"Maven is not installed: {HOW_TO_GET}."
    if shutil.which("java") is None or shutil.which("javac") is None:
        return f"A Java development kit is not installed: {HOW_TO_GET}."
    shown = subprocess.run(["java", "-version"], check=False, capture_output=True, text=True)
    found = re.search(r'version "(\d+)', shown.stderr + shown.stdout)
    if shown.returncode or found is None or int(found[1]) < 17:
        return f"Java 17 or later is needed: {HOW_TO_GET}."
    return None


def install(progress: Progress) -> Path:
    """The folder of jars, fetched once. Raises MissingTool, LocalStackError."""
    lack = missing()
    if lack:
        raise MissingTool(lack)
    recipe = (SOURCES / "pom.xml").read_bytes() + repr(PLUGIN_ZIPS).encode()
    home = LOCAL / "opensearch" / hashlib.sha256(recipe).hexdigest()[:12]
    library = home / "lib"
    if library.exists():
        return library
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            with progress.step("Fetching OpenSearch with Maven"):
                _fetch(home).replace(library)
    return library


def _fetch(home: Path) -> Path:
    draft = home / "lib.part"
    shutil.rmtree(draft, ignore_errors=True)
    _maven("copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={draft}")
    zips = home / "zips"
    for artifact in PLUGIN_ZIPS:
        _maven("copy", f"-Dartifact={artifact}", f"-DoutputDirectory={zips}")
    for path in zips.glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                # The newest of what several bring was resolved by Maven: don't replace it.
                target = draft / Path(name).name
                if name.endswith(".jar") and not target.exists():
                    target.write_bytes(archive.read(name))
    return draft


def _maven(goal: str, *options: str) -> None:
    command = ["mvn", "-q", "-B", "-f", str(SOURCES / "pom.xml"), f"{DEPENDENCY}:{goal}"]
    done = subprocess.run([*command, *options], check=False, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
        raise LocalStackError(f"Maven could not fetch OpenSearch: {' '.join(lines[:2])}")


def start(data: Path, port: int, progress: Progress) -> Process:
    """Start a node that keeps its data in ``data`` and wait until it answers."""
    library = install(progress)
    log = data / "node.log"
    command = ["java", "-Xms256m", "-Xmx768m", "-XX:TieredStopAtLevel=4", "-cp", f"{library}/*"]
    command += [str(SOURCES / "OneNode.java"), str(data), str(port)]
    with progress.step(f"Starting OpenSearch on port {port}"):
        process = processes.start(command, log=log, env=os.environ)
        try:
            processes.wait_until(
                lambda: answers(url(port)), process, what="OpenSearch", log=log, seconds=90
            )
        except BaseException:
            processes.stop(process)
            raise
    return process


def url(port: int) -> str:
    return f"http://{net.HOST}:{port}"


def answers(address: str) -> bool:
    health = net.get_json(f"{address}/_cluster/health")
    return isinstance(health, dict) and health.get("status") in {"green", "yellow"}
