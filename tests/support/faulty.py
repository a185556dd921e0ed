"""A boto3 client in which chosen calls go wrong, the rest being real."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

type Call = Callable[..., Any]
type Fault = Callable[[Call, dict[str, Any]], Any]


class Faulty:
    """``faults[method]``: one fault for each of the next calls of that method, in order."""

    def __init__(self, client: Any, faults: dict[str, Iterable[Fault]]) -> None:
        self._client = client
        self._faults = {method: iter(queued) for method, queued in faults.items()}
        self._lock = threading.Lock()
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def get_paginator(self, method: str) -> Any:
        paginator = self._client.get_paginator(method)
        paginator._method = getattr(self, method)
        return paginator

    def __getattr__(self, method: str) -> Any:
        real = getattr(self._client, method)
        if not callable(real):
            return real

        def call(**arguments: Any) -> Any:
            with self._lock:
                self.calls.append((method, arguments))
                fault = next(self._faults.get(method, iter(())), None)
            return real(**arguments) if fault is None else fault(real, arguments)

        return call


def pass_through(call: Call, arguments: dict[str, Any]) -> Any:
    return call(**arguments)


def lost_reply(call: Call, arguments: dict[str, Any]) -> Any:
    """The service did it; the caller never hears."""
    call(**arguments)
    raise ReadTimeoutError(endpoint_url="http://service")


def lost_request(call: Call, arguments: dict[str, Any]) -> Any:
    raise ReadTimeoutError(endpoint_url="http://service")


def repeated_by_sdk(call: Call, arguments: dict[str, Any]) -> Any:
    """The first reply was lost, so the SDK sent the same request again."""
    call(**arguments)
    return call(**arguments)


def refused(code: str, *, status: int = 400, **members: Any) -> Fault:
    def fault(call: Call, arguments: dict[str, Any]) -> Any:
        response: Any = {
            "Error": {"Code": code, "Message": code},
            "ResponseMetadata": {"HTTPStatusCode": status},
            **members,
        }
        raise ClientError(response, call.__name__)

    return fault


def cancelled(*codes: str) -> Fault:
    reasons = [{"Code": code} for code in codes]
    return refused("TransactionCanceledException", CancellationReasons=reasons)
