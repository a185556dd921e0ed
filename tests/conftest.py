"""Fixtures that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from custody_local import emulator
from custody_local.stack import Stack
from tests.support.local_stack import bare_emulator, deployed_stack
from tests.support.opensearch_node import opensearch_node

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("default", deadline=None, max_examples=50)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """A real OpenSearch node, shared by all test processes of the machine."""
    with opensearch_node() as url:
        yield url


@pytest.fixture(scope="session")
def emulator_url() -> Iterator[str]:
    """A bare local AWS, shared by all test processes of the machine."""
    with bare_emulator() as url:
        yield url


@pytest.fixture(scope="module")
def aws_credentials() -> Iterator[None]:
    """Nothing of the caller's own AWS set-up reaches a client; endpoints are given in code."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in emulator.client_environment("").items():
            patch.setenv(name, value)
        for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def aws_endpoint(aws_credentials: None, emulator_url: str) -> str:
    """Of the bare local AWS, with credentials that it takes in the environment."""
    return emulator_url


@pytest.fixture(scope="session")
def local_stack() -> Iterator[Stack]:
    """The whole service, deployed, shared by all test processes of the machine."""
    with deployed_stack() as stack:
        yield stack


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the shared data sets."""
    named = os.environ.get("CUSTODY_DATA")
    if not named:
        pytest.skip("CUSTODY_DATA is not set: it names the folder of the shared data sets")
    folder = Path(named).resolve()
    if not folder.is_dir():
        pytest.fail(f"CUSTODY_DATA={named} is no folder")
    return folder


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """The built embedding model (`make model`, which `make test` does)."""
    folder = Path(__file__).parents[1] / ".local/models" / os.environ.get("CUSTODY_MODEL", "minilm")
    if not (folder / "manifest.json").exists():
        pytest.fail("the embedding model is not built: run 'make model'")
    return folder
