"""Calls to DynamoDB: time-outs, retries, conditional writes and what their failures mean.

A write carries a token of its own, kept in each item it touches. Where a reply was lost, or the
SDK repeated a write that had been applied, the condition fails although the write took place: the
items are then read back, and our own token in one of them is success.
"""

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
from custody.errors import IntegrityError, TooLarge, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import UpdateTypeDef

type Value = Any  # one attribute in the wire form, {"S": "text"}
type Item = Mapping[str, Value]

BATCH_KEYS = 100  # the API's limit for BatchGetItem
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


@dataclass(frozen=True, slots=True)
class Row:
    """One item as it shall be after a write. ``expected`` 0: it must not be there yet."""

    key: Key
    body: str
    expected: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    remove: tuple[str, ...] = ()

    def size(self) -> int:
        """Bytes of the item, near enough above DynamoDB's own count."""
        fixed = len(self.key.pk) + len(self.key.sk) + 120
        return (
            fixed
            + len(self.body.encode())
            + sum(len(name) + len(str(value).encode()) for name, value in self.attributes.items())
        )


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
                self._raise_unless_retryable(error)
                continue
            return reply.get("Item")
        raise self.unavailable("throttled")

    def batch(self, keys: Sequence[Key], *, attributes: Sequence[str] = ()) -> list[Item]:
        """The items that exist, in no order, fetched in parallel; ``attributes`` names the only
        ones wanted."""
        unique = list(dict.fromkeys(keys))
        if not unique:
            return []
        pieces = -(-len(unique) // BATCH_KEYS)
        size = -(-len(unique) // pieces)
        chunks = [unique[start : start + size] for start in range(0, len(unique), size)]
        if len(chunks) == 1:
            return self._batch_chunk(chunks[0], attributes)
        found: list[Item] = []
        for items in self.parallel(lambda chunk: self._batch_chunk(chunk, attributes), chunks):
            found.extend(items)
        return found

    def parallel[A, B](self, function: Callable[[A], B], arguments: Sequence[A]) -> list[B]:
        return list(self._threads.map(function, arguments))

    def _batch_chunk(self, keys: Sequence[Key], attributes: Sequence[str]) -> list[Item]:
        request: dict[str, Any] = {"Keys": [wire(key) for key in keys], "ConsistentRead": True}
        if attributes:
            request["ProjectionExpression"] = ", ".join(attributes)
        found: list[Item] = []
        for _ in self.pacing.tries():
            try:
                reply = self.client.batch_get_item(RequestItems={self.name: request})  # type: ignore[dict-item]  # built above
            except (ClientError, BotoCoreError) as error:
                self._raise_unless_retryable(error)
                continue
            found.extend(reply.get("Responses", {}).get(self.name, ()))
            left = reply.get("UnprocessedKeys", {}).get(self.name)
            if not left:
                return found
            request["Keys"] = left["Keys"]
        raise self.unavailable("throttled")

    def query(self, **arguments: Any) -> Mapping[str, Any]:
        for _ in self.pacing.tries():
            try:
                return self.client.query(TableName=self.name, **arguments)
            except (ClientError, BotoCoreError) as error:
                self._raise_unless_retryable(error)
        raise self.unavailable("throttled")

    # writing

    def write(self, *rows: Row) -> bool:
        """All rows or none, each on its ``expected`` revision. False: another write came first."""
        for row in rows:
            if row.size() > ITEM_BYTES:
                raise TooLarge(
                    f"The record needs {row.size()} bytes; {ITEM_BYTES} fit.",
                    code="item-too-large",
                )
        token = self.new_token()
        updates = [self._update(row, token) for row in rows]
        try:
            applied = self.attempt(lambda: self._send(updates, token))
        except Uncertain:
            if self._is_ours(rows, token):
                return True
            raise
        return applied or self._is_ours(rows, token)

    def attempt(self, send: Callable[[], object]) -> bool:
        """False on a failed condition; what is only in the way is waited for."""
        for _ in self.pacing.tries():
            try:
                send()
            except (ClientError, BotoCoreError) as error:
                codes = failure_codes(error)
                if codes & {"ConditionalCheckFailedException", "ConditionalCheckFailed"}:
                    return False
                self._raise_unless_retryable(error)
                continue
            return True
        raise self.unavailable("contended")

    def require(self, send: Callable[[], object]) -> None:
        """A write without a condition, safe to repeat."""
        if not self.attempt(send):
            raise self.unavailable("an unconditional write was refused")

    def _send(self, updates: Sequence[UpdateTypeDef], token: str) -> None:
        if len(updates) == 1:
            self.client.update_item(**updates[0])
        else:
            self.client.transact_write_items(
                TransactItems=[{"Update": update} for update in updates], ClientRequestToken=token
            )

    def _update(self, row: Row, token: str) -> UpdateTypeDef:
        """An update, not a put: attributes that are changed on their own (the parts) stay."""
        values: dict[str, Value] = {
            "body": {"S": row.body},
            "rev": {"N": str(row.expected + 1)},
            "tok": {"S": token},
            **row.attributes,
        }
        names = [*values, *row.remove]
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
        if row.remove:
            expression += " REMOVE " + ", ".join(f"#{name}" for name in row.remove)
        update: UpdateTypeDef = {
            "TableName": self.name,
            "Key": wire(row.key),
            "UpdateExpression": expression,
            "ExpressionAttributeNames": {f"#{name}": name for name in names},
            "ExpressionAttributeValues": {f":{name}": value for name, value in values.items()},
            "ConditionExpression": "attribute_not_exists(pk)",
        }
        if row.expected:
            update["ConditionExpression"] = "#rev = :expected"
            update["ExpressionAttributeValues"] = {
                **update["ExpressionAttributeValues"],
                ":expected": {"N": str(row.expected)},
            }
        return update

    def _is_ours(self, rows: Sequence[Row], token: str) -> bool:
        items = self.batch([row.key for row in rows], attributes=("tok",))
        return any(item.get("tok", {}).get("S") == token for item in items)

    # failures

    def unavailable(self, detail: str) -> Unavailable:
        return Unavailable(f"The table can't answer: {detail}.", code=self._code)

    def _raise_unless_retryable(self, error: ClientError | BotoCoreError) -> None:
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
