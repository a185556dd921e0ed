"""Jobs on SQS queues."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from custody.domain.jobs import (
    CleanupJob,
    EmbedJob,
    EraseJob,
    IndexJob,
    Job,
    ParseJob,
    PublishJob,
    RebuildJob,
    RejectJob,
    encode,
    kind_of,
)
from custody.errors import ConfigurationError, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

_BATCH = 10  # the API's limit for SendMessageBatch
_TRIES = 4
_FIRST_PAUSE = 0.1  # seconds, doubled at each repeat


def connect(
    *,
    endpoint_url: str | None = None,
    connect_timeout: float = 2.0,
    read_timeout: float = 5.0,
    attempts: int = 3,
) -> SQSClient:
    """A client that gives up. Times in seconds, for each attempt."""
    return boto3.client(
        "sqs",
        endpoint_url=endpoint_url,
        config=Config(
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            retries={"mode": "standard", "total_max_attempts": attempts},
            tcp_keepalive=True,
        ),
    )


class SqsJobs:
    """Queue URLs by kind; one that a function may not send to is None. Publications,
    rejections and clean-ups share the publish queue; all that is about indices the rebuild queue."""

    def __init__(
        self,
        client: SQSClient,
        *,
        parse: str | None = None,
        embed: str | None = None,
        publish: str | None = None,
        erase: str | None = None,
        rebuild: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._sleep = sleep
        self._queues: Mapping[type[Job], str | None] = {
            ParseJob: parse,
            EmbedJob: embed,
            PublishJob: publish,
            RejectJob: publish,
            EraseJob: erase,
            CleanupJob: publish,
            RebuildJob: rebuild,
            IndexJob: rebuild,
        }

    def send(self, jobs: Iterable[Job], *, delay_seconds: int = 0) -> None:
        bodies: dict[str, list[str]] = defaultdict(list)
        for job in jobs:
            queue = self._queues[type(job)]
            if not queue:
                raise ConfigurationError(
                    f"No queue is set for {kind_of(job)} jobs.", code="queue-missing"
                )
            bodies[queue].append(encode(job))
        for queue, waiting in bodies.items():
            for start in range(0, len(waiting), _BATCH):
                self._send_batch(queue, waiting[start : start + _BATCH], delay_seconds)

    def _send_batch(self, queue: str, bodies: list[str], delay_seconds: int) -> None:
        """The reply is 200 even where single messages failed: those are repeated."""
        left: list[SendMessageBatchRequestEntryTypeDef] = [
            {"Id": str(number), "MessageBody": body, "DelaySeconds": delay_seconds}
            for number, body in enumerate(bodies)
        ]
        codes: set[str] = set()
        for attempt in range(_TRIES):
            if attempt:
                self._sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                reply = self._client.send_message_batch(QueueUrl=queue, Entries=left)
            except (ClientError, BotoCoreError) as error:
                raise Unavailable(
                    f"The queue can't be reached: {_code(error)}.", code="queue-unavailable"
                ) from error
            sent = {entry["Id"] for entry in reply.get("Successful", ())}
            codes = {entry["Code"] for entry in reply.get("Failed", ())}
            # What is in neither list wasn't confirmed, so it counts as failed.
            left = [entry for entry in left if entry["Id"] not in sent]
            if not left:
                return
        raise Unavailable(
            f"{len(left)} messages were refused: {', '.join(sorted(codes)) or 'no reason'}.",
            code="queue-unavailable",
        )


def _code(error: ClientError | BotoCoreError) -> str:
    if isinstance(error, ClientError):
        return error.response.get("Error", {}).get("Code", "")
    return type(error).__name__
