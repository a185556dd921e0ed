"""A real OpenSearch for tests: OPENSEARCH_URL where set, else a node from Maven."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from custody_local import net, opensearch, processes
from custody_local.processes import Process
from custody_local.progress import Progress
from tests.support.shared_service import Details, shared_service


def _start() -> Details:
    folder = Path(tempfile.mkdtemp(prefix="custody-opensearch-"))
    port = net.choose(0, what="OpenSearch", option="")
    process = opensearch.start(folder, port, Progress(quiet=True))
    return {"url": opensearch.url(port), "folder": str(folder), "process": asdict(process)}


def _stop(details: Details) -> None:
    processes.stop(Process(**details["process"]))
    shutil.rmtree(details["folder"], ignore_errors=True)


@contextmanager
def opensearch_node() -> Iterator[str]:
    """The node's URL. Skips, saying how to get one, where there is none; fails instead where
    CUSTODY_REQUIRE_OPENSEARCH=1. Use index names of your own: the node is shared."""
    given = os.environ.get("OPENSEARCH_URL")
    if given:
        if not opensearch.answers(given.rstrip("/")):
            pytest.fail("OPENSEARCH_URL is set, but no OpenSearch answers there.")
        yield given.rstrip("/")
        return
    lack = opensearch.missing()
    if lack:
        if os.environ.get("CUSTODY_REQUIRE_OPENSEARCH") == "1":
            pytest.fail(f"CUSTODY_REQUIRE_OPENSEARCH=1, but: {lack}")
        pytest.skip(f"no OpenSearch: {lack}")
    with shared_service(
        "opensearch", start=_start, stop=_stop, healthy=lambda d: opensearch.answers(d["url"])
    ) as details:
        yield str(details["url"])
