"""Start the functions that a first document meets, side by side, before it comes.

A cold function costs seconds here: the emulator unpacks its layers and imports them, and a
document meets four on queues one after the other. What is asked of them changes nothing: a batch
without messages, a list, a search without a question.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from botocore.config import Config

from custody_local.clients import EndpointSession
from custody_local.errors import NotServing

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

#: The slowest first.
ON_QUEUES = ("parse", "embed", "publish", "accept")
PATIENCE = 120  # seconds for one call; a busy machine starts workers slowly
#: Nobody's: a token of it reads nothing.
TENANT = "warm-up"


def warm(aws: EndpointSession, stack_name: str, api_url: str, token: str) -> None:
    """Raises NotServing, with the function's own words, for one that can't do its work."""
    patience = Config(read_timeout=PATIENCE, retries={"total_max_attempts": 1})
    client: LambdaClient = aws.client("lambda", config=patience)
    work: list[Callable[[], None]] = [
        *(partial(_batch, client, f"{stack_name}-{name}") for name in ON_QUEUES),
        partial(_call, api_url, "GET", "/documents", token, expected=200),
        partial(_call, api_url, "POST", "/search", token, expected=422),
    ]
    with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        for done in [pool.submit(one) for one in work]:
            done.result()


def _batch(client: LambdaClient, function: str) -> None:
    reply = client.invoke(FunctionName=function, Payload=json.dumps({"Records": []}))
    told = reply["Payload"].read().decode(errors="replace")
    if "FunctionError" in reply:
        raise NotServing(f"The function {function} fails at its start: {told[:500]}")


def _call(api_url: str, method: str, path: str, token: str, *, expected: int) -> None:
    request = urllib.request.Request(  # noqa: S310 - the stack's own API
        api_url + path,
        method=method,
        data=b"{}" if method == "POST" else None,
        headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310
            status, told = reply.status, ""
    except urllib.error.HTTPError as error:
        status, told = error.code, error.read().decode(errors="replace")
    except OSError as error:
        raise NotServing(f"{method} {path} gets no answer: {error}") from error
    if status != expected:
        raise NotServing(
            f"{method} {path} answers {status}: {told[:500]} (The functions must be able to "
            "reach the token issuer and the index on this machine: docs/operations.md.)"
        )
