"""A queue's batch: every message for itself, the failed ones alone come again.

After its last delivery a message goes to the dead-letter queue; why it failed is in the log, under
its message id, each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from custody.application.failure import Failure
from custody.counts import emit
from custody.domain.jobs import Job, decode
from custody.errors import CustodyError, IntegrityError

type BatchReply = Mapping[str, object]
_NONE_FAILED: BatchReply = {"batchItemFailures": []}


type Counts = Mapping[str, float]
type Handle[S] = Callable[[S, SQSRecord], Counts | None]
"""Raises to have its message come again; what it returns is counted as metrics, name to count."""

type UseCases[S] = Callable[[S], object]
"""Makes what the messages are worked on with."""

type BatchHandler = Callable[[Mapping[str, Any], Any], BatchReply]


class _Reporting:
    """What every queue function tells of each message of a batch."""

    def __init__(self, function: str) -> None:
        self.function = function
        self._logger = Logger(service=function, level="INFO")
        # Where a whole batch fails it is reported as it is: an error would kill a warm process.
        self._processor = BatchProcessor(
            event_type=EventType.SQS, raise_on_entire_batch_failure=False
        )

    def _report(
        self, event: Mapping[str, Any], context: Any, message: Callable[[SQSRecord], Counts | None]
    ) -> BatchReply:
        counts: dict[str, float] = {}

        def handle(record: SQSRecord) -> None:  # the processor asks for this argument's name
            try:
                found = message(record)
            except CustodyError as error:
                counts["MessageFailed"] = counts.get("MessageFailed", 0) + 1
                self._told(record, error.code, error.detail)
                raise
            except Exception:
                counts["MessageFailed"] = counts.get("MessageFailed", 0) + 1
                self._logger.exception(
                    "message failed",
                    extra={"message_id": record.message_id, "code": "internal"},
                )
                raise
            for name, count in (found or {}).items():
                counts[name] = counts.get(name, 0) + count

        reply = process_partial_response(
            event=dict(event), record_handler=handle, processor=self._processor, context=context
        )
        emit(self.function, counts)
        return dict(reply)

    def _told(self, record: SQSRecord, code: str, detail: str) -> None:
        self._logger.error(
            "message failed",
            extra={
                "message_id": record.message_id,
                "receive_count": record.attributes.approximate_receive_count,
                "code": code,
                "detail": detail,
            },
        )


class Batches[S](_Reporting):
    """One queue function that works message by message. A batch without messages makes the use
    cases and nothing else, so that a container can be ready before the first message comes."""

    def __init__(self, function: str, handle: Handle[S], *, use_cases: UseCases[S]) -> None:
        super().__init__(function)
        self._handle = handle
        self._use_cases = use_cases

    def handler(self, service: Callable[[], S]) -> BatchHandler:
        """``service`` is called when a batch comes, not before."""

        def handle(event: Mapping[str, Any], context: Any) -> BatchReply:
            if _is_empty(event):
                self._use_cases(service())
                return _NONE_FAILED
            return self._report(event, context, lambda record: self._handle(service(), record))

        return handle


class JobBatches[S, J: Job](_Reporting):
    """A queue function whose messages, of these ``kinds``, are worked on together. ``work`` takes the jobs of a batch
    and returns those that must come again; ``counts`` are a done job's metrics. Where it raises,
    each job is tried again for itself, so that only the one at fault comes again. A batch without
    messages makes the use cases and nothing else."""

    def __init__(
        self,
        function: str,
        kinds: tuple[type[J], ...],
        work: Callable[[S, Sequence[J]], Iterable[Failure[J]]],
        counts: Callable[[J], Counts] | None = None,
        *,
        use_cases: UseCases[S],
    ) -> None:
        super().__init__(function)
        self._use_cases = use_cases
        self._kinds = kinds
        self._work = work
        self._counts = counts

    def handler(self, service: Callable[[], S]) -> BatchHandler:
        """``service`` is called when a batch comes, not before."""

        def failed(jobs: Sequence[J]) -> Mapping[J, CustodyError]:
            return {failure.job: failure.error for failure in self._work(service(), jobs)}

        def handle(event: Mapping[str, Any], context: Any) -> BatchReply:
            if _is_empty(event):
                self._use_cases(service())
                return _NONE_FAILED
            together = self._together(failed, self._readable(event))

            def message(record: SQSRecord) -> Counts | None:
                job = job_of(record.body, *self._kinds)
                errors = failed([job]) if together is None else together
                if job in errors:
                    raise errors[job]
                return self._counts(job) if self._counts else None

            return self._report(event, context, message)

        return handle

    def _together(
        self, failed: Callable[[Sequence[J]], Mapping[J, CustodyError]], jobs: Sequence[J]
    ) -> Mapping[J, CustodyError] | None:
        """None where it can't be said which of them failed."""
        try:
            return failed(jobs) if jobs else {}
        except Exception:
            self._logger.exception("batch failed", extra={"code": "internal"})
            return None

    def _readable(self, event: Mapping[str, Any]) -> list[J]:
        jobs = []
        for record in event.get("Records", ()):
            try:
                jobs.append(job_of(str(record.get("body", "")), *self._kinds))
            except IntegrityError:
                continue  # refused and told of afterwards, message by message
        return jobs


def _is_empty(event: Mapping[str, Any]) -> bool:
    """An event without ``Records`` is no batch, and is refused like any other."""
    return event.get("Records") == []


@overload
def job_of[J: Job](body: str, kind: type[J], /) -> J: ...
@overload
def job_of[J: Job, K: Job](body: str, kind: type[J], other: type[K], /) -> J | K: ...
def job_of[J: Job](body: str, *kinds: type[J]) -> J:
    """Raises IntegrityError(malformed-job) where the message is no job of these ``kinds``."""
    job = decode(body)
    if not isinstance(job, kinds):
        raise IntegrityError("The job is another queue's.", code="malformed-job")
    return job
