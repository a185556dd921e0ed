"""What befalls the index of a stack that nobody else uses. Each ends when its block does."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from opensearchpy import OpenSearch

from custody.adapters.opensearch_index import names
from custody.domain.index.candidates import Space
from custody_local import opensearch, processes
from custody_local.processes import Process
from custody_local.progress import Progress
from tests.support.service import Service

READERS = ("query", "gate", "health")


def _node(service: Service) -> Process:
    return service.state.processes["opensearch"]


def _alias(service: Service, client: OpenSearch, tenant: str) -> str:
    """Of the index that searches of the tenant find."""
    prefix, space = service.state.stack_name, Space(tenant)
    found = client.indices.get_alias(index=names.every_index(prefix, space))
    (alias,) = {
        alias
        for index in found.values()
        for alias in index["aliases"]
        if names.is_alias(prefix, space, alias)
    }
    return str(alias)


@contextmanager
def frozen(service: Service, _tenant: str) -> Iterator[None]:
    """The node's process stands still: it takes connections and never answers."""
    pid = _node(service).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def killed(service: Service, _tenant: str) -> Iterator[None]:
    """The node dies in the middle of things; one with the same data comes back in its place."""
    node = _node(service)
    os.killpg(node.pid, signal.SIGKILL)
    while processes.alive(node):
        time.sleep(0.02)
    try:
        yield
    finally:
        folder, state = service.stack.folder, service.state
        started = opensearch.start(folder / "node", state.ports["opensearch"], Progress(quiet=True))
        state.processes["opensearch"] = started
        state.save(folder)


@contextmanager
def halved(service: Service, tenant: str) -> Iterator[None]:
    """One of two shards behind the tenant's alias is on no node."""
    lost = f"lost-{uuid.uuid4().hex}"
    with closing(OpenSearch(service.state.opensearch_url, timeout=30)) as client:
        body = {
            "settings": {
                "number_of_replicas": 0,
                "index.routing.allocation.require._name": "a node that was lost",
            },
            "aliases": {_alias(service, client, tenant): {}},
        }
        client.indices.create(index=lost, body=body, params={"wait_for_active_shards": "0"})
        try:
            yield
        finally:
            client.indices.delete(index=lost)


@contextmanager
def refusing_writes(service: Service, tenant: str) -> Iterator[None]:
    """As a node does whose disk is nearly full."""
    block = "index.blocks.read_only_allow_delete"
    with closing(OpenSearch(service.state.opensearch_url, timeout=30)) as client:
        alias = _alias(service, client, tenant)
        client.indices.put_settings(index=alias, body={block: True})
        try:
            yield
        finally:
            client.indices.put_settings(index=alias, body={block: None})


@contextmanager
def damaged(service: Service, _tenant: str) -> Iterator[None]:
    """The embedded index's file is no database; workers start anew, as after a crash."""
    file = Path(service.state.embedded_index_path)
    aside = file.parent / "aside"
    aside.mkdir()
    for part in list(file.parent.glob(f"{file.name}*")):
        part.rename(aside / part.name)
    file.write_bytes(b"This is no database. " * 500)
    _start_anew(service)
    try:
        yield
    finally:
        for part in list(file.parent.glob(f"{file.name}*")):
            part.unlink()
        for part in list(aside.iterdir()):
            part.rename(file.parent / part.name)
        aside.rmdir()
        _start_anew(service)


def _start_anew(service: Service) -> None:
    """Warm workers hold the file that was moved away open."""
    functions = service.aws("lambda")
    for name in READERS:
        function = f"{service.state.stack_name}-{name}"
        found = functions.get_function_configuration(FunctionName=function)["Environment"]
        variables = found["Variables"] | {"CUSTODY_TEST_START": uuid.uuid4().hex}
        functions.update_function_configuration(
            FunctionName=function, Environment={"Variables": variables}
        )
