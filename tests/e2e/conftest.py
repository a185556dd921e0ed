"""One service for all of the end-to-end tests, warmed up before the first of them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from custody_local.stack import Stack
from tests.support.service import Service

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def service(local_stack: Stack) -> Iterator[Service]:
    service = Service(local_stack)
    try:
        with (local_stack.folder / "warm.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one test process warms it up for all
            warm = local_stack.folder / "warm"
            if not warm.exists():
                service.warm_up()
                warm.touch()
        yield service
    finally:
        service.close()
