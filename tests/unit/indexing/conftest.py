"""A world with a real index, which can be built anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.adapters.sqlite_index import SqliteIndex
from tests.support.rebuild_world import RebuildWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RebuildWorld]:
    index = SqliteIndex(str(tmp_path / "index.db"))
    made = RebuildWorld(index)
    made.source()
    yield made
    index.close()
