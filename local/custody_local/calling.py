"""Call a deployed function and wait for its reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from botocore.config import Config

from custody_local.errors import LocalStackError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

#: The longest that one of the functions may run, and a cold start; asked once.
PATIENT = Config(read_timeout=360, retries={"total_max_attempts": 1})


def call(client: LambdaClient, function: str, event: Mapping[str, Any]) -> Any:
    """Raises LocalStackError, with the function's own words, for one that fails."""
    reply = client.invoke(FunctionName=function, Payload=json.dumps(event))
    told = reply["Payload"].read().decode(errors="replace")
    if "FunctionError" in reply:
        raise LocalStackError(f"The function {function} fails: {told[:500]}")
    return json.loads(told)
