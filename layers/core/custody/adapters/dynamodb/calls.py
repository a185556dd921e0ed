"""Calls to one table of DynamoDB: time-outs, retries and what their failures mean."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnection

from custody.adapters.dynamodb.layout import Key
from custody.errors import IntegrityError, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

type Value = Any  # one attribute in the wire form, {"S": "text"}
type Item = Mapping[str, Value]

ITEM_BYTES = 400 * 1024  # the API's limit for one item
_WORKERS = 16

_THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingException",
        "ThrottlingError",
    }
)
_IN_THE_WAY = frozenset(
    {"TransactionConflictException", "TransactionConflict", "TransactionInProgressException"}
)


def connect(
    *,
    endpoint_url: str | None = None,
    connect_timeout: float = 1.0,
    read_timeout: float = 2.0,
    attempts: int = 3,
) -> DynamoDBClient:
    """A client that gives up in seconds. Times in seconds, for each attempt."""
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint_url,
        config=Config(
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            retries={"mode": "standard", "total_max_attempts": attempts},
            max_pool_connections=2 * _WORKERS,
            tcp_keepalive=True,
            # Requests are built here, not by callers; checking 100 keys costs 2 ms a search.
            parameter_validation=False,
        ),
    )


@dataclass(frozen=True, slots=True)
class Pacing:
    """Our own repeats, above the SDK's: full jitter, doubling from ``first_seconds``."""

    attempts: int = 12
    first_seconds: float = 0.02
    longest_seconds: float = 0.4
    deadline_seconds: float = 4.0
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    random: Random = field(default_factory=Random)

    def tries(self) -> Iterator[int]:
        """Counts up, pausing between; ends with the attempts or the deadline."""
        started = self.monotonic()
        for attempt in range(self.attempts):
            if attempt:
                if self.monotonic() - started >= self.deadline_seconds:
                    return
                longest = min(self.longest_seconds, self.first_seconds * 2 ** (attempt - 1))
                self.sleep(self.random.uniform(0, longest))
            yield attempt


class Uncertain(Unavailable):
    """The request may or may not have been carried out."""


class Table:
    """One table. ``code`` is that of the Unavailable which every fault becomes."""

    def __init__(
        self,
        client: DynamoDBClient,
        name: str,
        *,
        code: str,
        pacing: Pacing | None = None,
        new_token: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.client = client
        self.name = name
        self.pacing = pacing or Pacing()
        self.new_token = new_token
        self._code = code
        self._threads = ThreadPoolExecutor(_WORKERS, thread_name_prefix="dynamodb")

    # reading, always strongly consistent

    def get(self, key: Key) -> Item | None:
        for _ in self.pacing.tries():
            try:
                reply = self.client.get_item(
                    TableName=self.name, Key=wire(key), ConsistentRead=True
                )
            except (ClientError, BotoCoreError) as error:
                self.raise_unless_retryable(error)
                continue
            return reply.get("Item")
        raise self.unavailable("throttled")

    def parallel[A, B](self, function: Callable[[A], B], arguments: Sequence[A]) -> list[B]:
        return list(self._threads.map(function, arguments))

    def query(self, **arguments: Any) -> Mapping[str, Any]:
        for _ in self.pacing.tries():
            try:
                return self.client.query(TableName=self.name, **arguments)
            except (ClientError, BotoCoreError) as error:
                self.raise_unless_retryable(error)
        raise self.unavailable("throttled")

    def scan(self, **arguments: Any) -> Mapping[str, Any]:
        for _ in self.pacing.tries():
            try:
                return self.client.scan(TableName=self.name, **arguments)
            except (ClientError, BotoCoreError) as error:
                self.raise_unless_retryable(error)
        raise self.unavailable("throttled")

    # writing

    def attempt(self, send: Callable[[], object]) -> bool:
        """False on a failed condition; what is only in the way is waited for."""
        for _ in self.pacing.tries():
            try:
                send()
            except (ClientError, BotoCoreError) as error:
                codes = failure_codes(error)
                if codes & {"ConditionalCheckFailedException", "ConditionalCheckFailed"}:
                    return False
                self.raise_unless_retryable(error)
                continue
            return True
        raise self.unavailable("contended")

    def require(self, send: Callable[[], object]) -> None:
        """A write without a condition, safe to repeat."""
        if not self.attempt(send):
            raise self.unavailable("an unconditional write was refused")

    # failures

    def unavailable(self, detail: str) -> Unavailable:
        return Unavailable(f"The table can't answer: {detail}.", code=self._code)

    def raise_unless_retryable(self, error: ClientError | BotoCoreError) -> None:
        codes = failure_codes(error)
        if codes & (_THROTTLED | _IN_THE_WAY):
            return
        if isinstance(error, (NoConnection, HTTPClientError)):
            raise Uncertain("The table didn't answer in time.", code=self._code) from error
        if isinstance(error, ClientError):
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if status >= 500:
                raise Uncertain("The table failed.", code=self._code) from error
            if "ValidationException" in codes or "ValidationError" in codes:
                raise IntegrityError(
                    "The table refused a malformed request.", code="ledger-request"
                ) from error
        raise self.unavailable(", ".join(sorted(codes)) or type(error).__name__) from error


def wire(key: Key) -> dict[str, Value]:
    return {"pk": {"S": key.pk}} | ({"sk": {"S": key.sk}} if key.sk else {})


def failure_codes(error: ClientError | BotoCoreError) -> set[str]:
    """The error's own code, or those of a cancelled transaction's reasons."""
    if not isinstance(error, ClientError):
        return set()
    code = error.response.get("Error", {}).get("Code", "")
    if code != "TransactionCanceledException":
        return {code}
    reasons = error.response.get("CancellationReasons", [])
    return {reason.get("Code", "") for reason in reasons} - {"None", ""}
