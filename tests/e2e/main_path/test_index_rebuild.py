"""The runbook for building an index anew, as docs/operations.md has it, while the service is used."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from custody_client import Client
from custody_local.paths import ROOT
from tests.support.service import PATIENCE, Person, Service, new_tenant, of, until

WORDS = ("heron", "otter", "kestrel", "badger")


def runbook() -> list[list[str]]:
    """The commands of the section, without what is said beside them."""
    told = (ROOT / "docs/operations.md").read_text("utf-8").partition("## Build an index anew")[2]
    block = told.partition("```")[2].partition("```")[0]
    lines = [line.partition("#")[0].strip() for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("custody ")]


@pytest.fixture
def tenant(service: Service) -> str:
    tenant = new_tenant("rebuild")
    service.source(tenant, "wiki")
    writer = service.client(Person(tenant, "pat", ("publishers",), ("read", "write", "erase")))
    for word in WORDS:
        for version in (1, 2):
            text = f"The {word} was seen {version} times at the quay."
            writer.put_document(word, "wiki", text, "text/plain")
            writer.wait_for_document(word, version=version, timeout=PATIENCE)
    return tenant


@pytest.fixture
def governor(tenant: str) -> Person:
    return Person(tenant, "gov", scopes=("read", "govern", "audit"))


def run(service: Service, governor: Person, words: list[str]) -> str:
    """With a deployment's variables, as an operator has them."""
    command = [str(ROOT / ".venv/bin" / words[0]), *words[1:]]
    if not os.access(command[0], os.X_OK):
        command = [sys.executable, "-m", "custody_cli.main", *words[1:]]
    environment = os.environ | {
        "CUSTODY_API_URL": service.state.api_url,
        "CUSTODY_TOKEN": service.token(governor),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "COLUMNS": "200",
    }
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(reader: Client, word: str) -> list[int]:
    return [item["version"] for item in of(reader.search(f"Where was the {word} seen?"), word)]


@pytest.fixture
def searching(service: Service, tenant: str) -> Iterator[list[str]]:
    """Somebody searches all the while; what was missed is told."""
    reader = service.client(Person(tenant, "rita"))
    over, missed = threading.Event(), list[str]()

    def look() -> None:
        while not over.is_set():
            missed.extend(word for word in WORDS[:3] if found(reader, word) != [2])

    searcher = threading.Thread(target=look)
    searcher.start()
    yield missed
    over.set()
    searcher.join()


def test_the_runbook_builds_the_indices_anew_and_nobody_notices(
    service: Service, tenant: str, governor: Person, searching: list[str]
) -> None:
    commands = runbook()
    assert [words[1:3] for words in commands] == [["index", "rebuild"], ["index", "list"]]
    shown = [run(service, governor, words) for words in commands]
    assert "SERVED" in shown[0]
    client = service.client(governor)
    builds = {build["build_id"]: build for build in client.indexes()}
    assert (builds["live-1"]["state"], builds["live-1"]["versions"]) == ("SERVED", 4)
    assert (builds["history-1"]["state"], builds["history-1"]["versions"]) == ("SERVED", 4)
    assert builds["live-1"]["envelope"]
    assert {build for build in builds if build in shown[1]} == set(builds)
    what_comes_afterwards_is_in_the_new_index_and_the_former_one_goes(service, tenant, client)
    assert searching == []


def what_comes_afterwards_is_in_the_new_index_and_the_former_one_goes(
    service: Service, tenant: str, client: Client
) -> None:
    reader = service.client(Person(tenant, "rita"))
    writer = service.client(Person(tenant, "pat", ("publishers",), ("read", "write", "erase")))
    writer.put_document("newt", "wiki", "The newt was seen once.", "text/plain")
    writer.wait_for_document("newt", timeout=PATIENCE)
    assert found(reader, "newt") == [1]
    erased = writer.delete_document("badger", "it is over")
    writer.wait_for_erasure(erased["erasure_id"], timeout=PATIENCE)
    assert found(reader, "badger") == []

    def retired() -> bool:
        states = {build["build_id"]: build["state"] for build in client.indexes()}
        return states["live-0"] == states["history-0"] == "RETIRED"

    until("the former indices are dropped", retired, seconds=400)
    assert [found(reader, word) for word in WORDS[:3]] == [[2], [2], [2]]
