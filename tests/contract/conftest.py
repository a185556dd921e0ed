"""What the contract tests of the AWS adapters share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from custody_local import emulator


@pytest.fixture(scope="session")
def aws_credentials() -> Iterator[None]:
    """Nothing of the caller's own AWS set-up reaches a client; endpoints are given in code."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in emulator.client_environment("").items():
            patch.setenv(name, value)
        for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def aws_endpoint(aws_credentials: None, emulator_url: str) -> str:
    """Of the local AWS, with credentials that it takes."""
    return emulator_url
