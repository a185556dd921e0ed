"""The two evidence indexes, started for one run and gone after it."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opensearchpy import OpenSearch

from custody.adapters.opensearch_index import OpenSearchIndex, connect
from custody.adapters.sqlite_index import SqliteIndex
from custody.application.ports import EvidenceIndex
from custody_local import net, opensearch, processes
from custody_local.errors import LocalStackError
from custody_local.progress import Progress


@contextmanager
def opensearch_url(progress: Progress) -> Iterator[str]:
    """``OPENSEARCH_URL`` where set, else a real node of our own, stopped at the end.

    Raises SystemExit that says what is missing.
    """
    given = os.environ.get("OPENSEARCH_URL")
    if given:
        yield given
        return
    lacks = opensearch.missing()
    if lacks is not None:
        raise SystemExit(f"OpenSearch can't be started: {lacks}")
    folder = Path(tempfile.mkdtemp(prefix="custody-benchmark-"))
    port = net.choose(0, what="OpenSearch", option="OPENSEARCH_URL")
    try:
        node = opensearch.start(folder, port, progress)
    except LocalStackError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise SystemExit(str(error)) from error
    try:
        yield opensearch.url(port)
    finally:
        processes.stop(node)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def opensearch_client(progress: Progress) -> Iterator[tuple[OpenSearch, str]]:
    """A client and a prefix of names that are free; what was made under it is gone at the end."""
    with opensearch_url(progress) as url:
        client = connect(url, timeout_s=30)
        prefix = f"bench-{uuid.uuid4().hex[:8]}"
        try:
            yield client, prefix
        finally:
            client.indices.delete(index=f"{prefix}-*")
            client.close()


@contextmanager
def embedded_index() -> Iterator[SqliteIndex]:
    with tempfile.TemporaryDirectory(prefix="custody-benchmark-") as folder:
        index = SqliteIndex(str(Path(folder) / "index.sqlite"))
        try:
            yield index
        finally:
            index.close()


@contextmanager
def chosen(name: str, progress: Progress) -> Iterator[EvidenceIndex]:
    if name == "embedded":
        with embedded_index() as embedded:
            yield embedded
    else:
        with opensearch_client(progress) as (client, prefix):
            yield OpenSearchIndex(client, prefix)
