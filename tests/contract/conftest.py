"""What the contract tests of the AWS adapters share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from custody_local import emulator
from tests.support.local_aws import local_aws


@pytest.fixture(scope="session")
def aws_endpoint() -> Iterator[str]:
    """Of the local AWS; clients made in the test speak to it and to nothing else."""
    with local_aws() as endpoint, pytest.MonkeyPatch.context() as patch:
        for name, value in emulator.client_environment(endpoint).items():
            if name != "AWS_ENDPOINT_URL":
                patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        yield endpoint
