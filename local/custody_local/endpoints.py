"""An AWS endpoint that runs already: which one is meant, and whether it may be used.

What is deployed here is deleted here again, so an endpoint must show that it is an emulator: its
name is none of AWS's, it takes made-up credentials, and its account is the one with no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from botocore import exceptions as aws
from botocore.config import Config
from botocore.loaders import Loader
from botocore.parsers import ResponseParserError
from localstack_client import config as localstack

from custody_local.clients import session
from custody_local.emulator import ACCOUNT
from custody_local.errors import BadEndpoint

HOST_VARIABLES = ("LOCALSTACK_HOST", "EDGE_PORT")
VARIABLES = ("AWS_ENDPOINT_URL", *HOST_VARIABLES)


def named(option: str | None, environment: Mapping[str, str]) -> str | None:
    """The endpoint that the caller names: ``option``, else AWS_ENDPOINT_URL, else LOCALSTACK_HOST
    and EDGE_PORT (with https where USE_SSL is set). None: a local AWS is to be started.
    Raises BadEndpoint for what is no address."""
    url = option or environment.get("AWS_ENDPOINT_URL", "").strip()
    if not url:
        if not any(environment.get(name, "").strip() for name in HOST_VARIABLES):
            return None
        url = _of_host(environment)
    return _checked(url)


def _of_host(environment: Mapping[str, str]) -> str:
    host = environment.get("LOCALSTACK_HOST", "").strip() or "localhost"
    port = environment.get("EDGE_PORT", "").strip()
    try:
        name, number = localstack.parse_localstack_host(
            f"{host}:{port}" if port and ":" not in host else host
        )
    except RuntimeError as error:
        raise BadEndpoint("endpoint-invalid", f"LOCALSTACK_HOST or EDGE_PORT: {error}.") from error
    scheme = "https" if environment.get("USE_SSL") in {"1", "true"} else "http"
    return f"{scheme}://{name}:{number}"


def _checked(url: str) -> str:
    """``url`` without a slash at its end. Raises BadEndpoint."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # asking for the port checks it
    except ValueError:
        host = None
    plain = host and not (parts.path.strip("/") or parts.query or parts.fragment or parts.username)
    if not plain or parts.scheme not in {"http", "https"}:
        raise BadEndpoint(
            "endpoint-invalid",
            f"{url!r} is no endpoint: give scheme, host and port, as in http://127.0.0.1:4566.",
        )
    if is_aws(str(host)):
        raise BadEndpoint(
            "endpoint-is-aws",
            f"{url} is AWS itself. This command puts up and deletes stacks with made-up "
            "credentials, on an emulator only; 'make deploy' deploys to AWS.",
        )
    return url.rstrip("/")


def is_aws(host: str) -> bool:
    """By the names under which AWS has its endpoints, as the SDK knows them."""
    name = host.lower().rstrip(".")
    known: Any = Loader().load_data("partitions")
    suffixes = {
        partition["outputs"][kind]
        for partition in known["partitions"]
        for kind in ("dnsSuffix", "dualStackDnsSuffix")
    }
    return any(name == suffix or name.endswith(f".{suffix}") for suffix in suffixes)


def confirm(endpoint: str) -> None:
    """Raises BadEndpoint unless an emulator answers there. Asks, and changes nothing."""
    patience = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 1})
    try:
        told = session(endpoint).client("sts", config=patience).get_caller_identity()
    except (aws.ConnectionError, aws.HTTPClientError) as error:
        raise BadEndpoint(
            "endpoint-unreachable",
            f"Nothing answers at {endpoint}: start the emulator there, or name no endpoint and "
            "one is started.",
        ) from error
    # The SDK has no error of its own for XML with another root.
    except (aws.BotoCoreError, aws.ClientError, ResponseParserError, KeyError) as error:
        raise BadEndpoint(
            "endpoint-not-aws",
            f"What answers at {endpoint} does not speak the AWS APIs, or refuses made-up "
            f"credentials: {error}",
        ) from error
    account = told.get("Account")
    if account != ACCOUNT:
        raise BadEndpoint(
            "endpoint-not-aws" if account is None else "endpoint-is-aws",
            f"{endpoint} answers for the account {account}, and an emulator's is {ACCOUNT}: "
            "nothing is deployed there.",
        )


def answers(endpoint: str) -> bool:
    try:
        confirm(endpoint)
    except BadEndpoint:
        return False
    return True
