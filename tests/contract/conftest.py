"""The evidence indexes under test: each contract runs on both."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.adapters.opensearch_index import OpenSearchIndex, connect
from custody.adapters.sqlite_index import SqliteIndex
from tests.support.evidence import AnyIndex


@pytest.fixture
def sqlite_index(tmp_path: Path) -> Iterator[SqliteIndex]:
    index = SqliteIndex(str(tmp_path / "index.db"))
    yield index
    index.close()


@pytest.fixture
def opensearch_index(opensearch_url: str) -> Iterator[OpenSearchIndex]:
    client = connect(opensearch_url, timeout_s=60.0)
    prefix = f"t{uuid.uuid4().hex[:12]}"
    yield OpenSearchIndex(client, prefix, search_timeout_s=60.0)
    client.indices.delete(index=f"{prefix}-*", params={"allow_no_indices": "true"})
    client.close()


@pytest.fixture(params=["sqlite", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def index(request: pytest.FixtureRequest) -> AnyIndex:
    found: AnyIndex = request.getfixturevalue(f"{request.param}_index")
    return found
