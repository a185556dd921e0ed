"""Jobs: their form, the queues in memory and the queues on SQS's API."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.adapters import sqs_jobs
from custody.adapters.sqs_jobs import SqsJobs
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
    decode,
    encode,
)
from custody.domain.model import BuildKey, DocumentKey
from custody.errors import ConfigurationError, IntegrityError, Unavailable
from custody_memory.jobs import MemoryJobs
from tests.support.faulty import Call, Fault, Faulty, lost_request, refused

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

KEY = DocumentKey("acme", "wiki:guide")
JOBS: tuple[Job, ...] = (
    ParseJob(KEY, 1),
    EmbedJob(KEY, 1, 0, 0, 32),
    PublishJob(KEY, 2),
    PublishJob(KEY, 2, acl_revision=3),
    EraseJob(KEY, "erasure-1", 4),
    CleanupJob(KEY, 1),
    RejectJob(KEY, 1, ("malformed-pdf",)),
    RebuildJob(BuildKey("acme", "live-1")),
    IndexJob(KEY, 1),
)


# the form of a message


@pytest.mark.parametrize("job", JOBS, ids=lambda job: type(job).__name__)
def test_a_job_comes_back_as_it_was(job: Job) -> None:
    assert decode(encode(job)) == job


def test_the_form_is_fixed() -> None:
    assert encode(EmbedJob(KEY, 1, 2, 64, 70)) == (
        '{"kind":"embed","tenant":"acme","document_id":"wiki:guide",'
        '"version":1,"part":2,"first":64,"last":70}'
    )


def message(**changes: object) -> str:
    body = json.loads(encode(EmbedJob(KEY, 1, 0, 0, 32))) | changes
    return json.dumps({name: value for name, value in body.items() if value is not ...})


def rejection(reasons: object) -> str:
    return json.dumps(json.loads(encode(RejectJob(KEY, 1, ("code",)))) | {"reasons": reasons})


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[]",
        '"parse"',
        "{",
        "{}",
        message()[:-1] + ',"version":1}',
        message(kind="unknown"),
        message(kind=None),
        message(kind=["embed"]),
        message(kind=...),
        message(tenant=""),
        message(tenant=None),
        message(document_id=7),
        message(version=0),
        message(version=True),
        message(version=1.0),
        message(version="1"),
        message(version=-1),
        message(part=-1),
        message(first=None),
        message(last=...),
        message(more=1),
        rejection([]),
        rejection("malformed-pdf"),
        rejection([None]),
        rejection([""]),
        rejection(["A text of a document."]),
        rejection(["two words"]),
        rejection(["-"]),
        rejection(["x" * 65]),
        rejection(["code"] * 9),
    ],
)
def test_what_is_no_job_is_refused(body: str) -> None:
    with pytest.raises(IntegrityError) as refused_:
        decode(body)
    assert refused_.value.code == "malformed-job"


@given(st.text())
def test_any_text_is_a_job_or_refused(body: str) -> None:
    with pytest.raises(IntegrityError):
        decode(body)


# in memory


def test_jobs_in_memory_are_kept_in_order() -> None:
    jobs = MemoryJobs()
    jobs.send(JOBS[:2])
    jobs.send(iter(JOBS[2:]))
    assert jobs.pending == jobs.sent == JOBS


def test_draining_does_what_handlers_send_too() -> None:
    jobs = MemoryJobs()
    done: list[Job] = []

    def parse(job: ParseJob) -> None:
        done.append(job)
        jobs.send([PublishJob(job.key, job.version)])

    jobs.send([ParseJob(KEY, 1), ParseJob(KEY, 2)])
    assert jobs.drain({ParseJob: parse, PublishJob: done.append}) == 4
    assert done == [ParseJob(KEY, 1), ParseJob(KEY, 2), PublishJob(KEY, 1), PublishJob(KEY, 2)]
    assert jobs.pending == ()


def test_a_job_whose_handler_fails_is_delivered_again() -> None:
    jobs = MemoryJobs()
    jobs.send([ParseJob(KEY, 1), ParseJob(KEY, 2)])

    def fail(job: Job) -> None:
        raise Unavailable("later", code="index-unavailable")

    with pytest.raises(Unavailable):
        jobs.drain({ParseJob: fail})
    assert jobs.pending == (ParseJob(KEY, 1), ParseJob(KEY, 2))
    done: list[Job] = []
    assert jobs.drain({ParseJob: done.append}) == 2


def test_a_job_without_a_handler_is_not_lost() -> None:
    jobs = MemoryJobs()
    jobs.send([CleanupJob(KEY, 1)])
    with pytest.raises(KeyError):
        jobs.drain({})
    assert jobs.pending == (CleanupJob(KEY, 1),)


# on SQS


@pytest.fixture(scope="module")
def client(aws_endpoint: str) -> Iterator[SQSClient]:
    client = sqs_jobs.connect(endpoint_url=aws_endpoint, read_timeout=60)
    yield client
    client.close()


@pytest.fixture
def queues(client: SQSClient) -> Iterator[dict[str, str]]:
    mark = uuid.uuid4().hex
    made = {
        kind: client.create_queue(QueueName=f"{kind}-{mark}")["QueueUrl"]
        for kind in ("parse", "embed", "publish", "erase", "rebuild")
    }
    yield made
    for url in made.values():
        client.delete_queue(QueueUrl=url)


def received(client: SQSClient, url: str) -> list[Job]:
    jobs: list[Job] = []
    while True:
        messages = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        if not messages:
            return jobs
        for one in messages:
            jobs.append(decode(one["Body"]))
            client.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])


@pytest.mark.emulator
def test_each_job_goes_to_the_queue_of_its_kind(client: SQSClient, queues: dict[str, Any]) -> None:
    SqsJobs(client, **queues).send(JOBS)
    assert received(client, queues["parse"]) == [ParseJob(KEY, 1)]
    assert received(client, queues["embed"]) == [EmbedJob(KEY, 1, 0, 0, 32)]
    assert set(received(client, queues["publish"])) == {
        PublishJob(KEY, 2),
        PublishJob(KEY, 2, acl_revision=3),
        RejectJob(KEY, 1, ("malformed-pdf",)),
        CleanupJob(KEY, 1),
    }
    assert set(received(client, queues["erase"])) == {EraseJob(KEY, "erasure-1", 4)}
    assert set(received(client, queues["rebuild"])) == {
        RebuildJob(BuildKey("acme", "live-1")),
        IndexJob(KEY, 1),
    }


@pytest.mark.emulator
def test_a_job_that_is_held_back_is_handed_over_later(
    client: SQSClient, queues: dict[str, Any]
) -> None:
    counted = Faulty(client, {})
    SqsJobs(counted, **queues).send([ParseJob(KEY, 1)], delay_seconds=2)  # type: ignore[arg-type]  # stands for the client
    ((_, arguments),) = counted.calls
    assert [entry["DelaySeconds"] for entry in arguments["Entries"]] == [2]


def test_jobs_in_memory_are_held_back_until_they_are_released() -> None:
    jobs = MemoryJobs()
    jobs.send([ParseJob(KEY, 1)], delay_seconds=2)
    assert jobs.pending == ()
    jobs.release()
    assert jobs.pending == jobs.sent == (ParseJob(KEY, 1),)


@pytest.mark.emulator
@pytest.mark.parametrize("count", [0, 1, 10, 11, 25])
def test_jobs_are_sent_in_batches_and_none_is_lost(
    client: SQSClient, queues: dict[str, Any], count: int
) -> None:
    jobs = [EmbedJob(KEY, 1, part, part * 32, part * 32 + 32) for part in range(count)]
    counted = Faulty(client, {})
    SqsJobs(counted, **queues).send(jobs)  # type: ignore[arg-type]  # stands for the client
    assert sorted(received(client, queues["embed"]), key=lambda job: job.part) == jobs  # type: ignore[union-attr]  # all of the embed queue
    assert len(counted.calls) == -(-count // 10)


def half(call: Call, arguments: dict[str, Any]) -> Any:
    entries = arguments["Entries"]
    reply = call(**arguments | {"Entries": entries[::2]})
    failed = [
        {"Id": entry["Id"], "Code": "InternalError", "SenderFault": False}
        for entry in entries[1::2]
    ]
    return {"Successful": reply["Successful"], "Failed": failed}


@pytest.mark.emulator
def test_messages_that_failed_alone_are_sent_again(
    client: SQSClient, queues: dict[str, Any]
) -> None:
    pauses: list[float] = []
    faulty = Faulty(client, {"send_message_batch": [half, half]})
    jobs = [EmbedJob(KEY, 1, part, 0, 32) for part in range(8)]
    SqsJobs(faulty, **queues, sleep=pauses.append).send(jobs)  # type: ignore[arg-type]  # stands for the client
    assert sorted(received(client, queues["embed"]), key=lambda job: job.part) == jobs  # type: ignore[union-attr]  # all of the embed queue
    assert len(pauses) == 2


@pytest.mark.emulator
@pytest.mark.parametrize(
    "fault",
    [
        lost_request,
        refused("AccessDenied", status=403),
        lambda _, arguments: {"Failed": [{"Id": "0", "Code": "Throttled", "SenderFault": False}]},
        lambda _, arguments: {},
    ],
)
def test_a_queue_that_does_not_take_a_message_is_unavailable(
    client: SQSClient, queues: dict[str, Any], fault: Fault
) -> None:
    faulty = Faulty(client, {"send_message_batch": repeat(fault)})
    with pytest.raises(Unavailable) as unavailable:
        SqsJobs(faulty, **queues, sleep=lambda _: None).send([ParseJob(KEY, 1)])  # type: ignore[arg-type]  # stands for the client
    assert unavailable.value.code == "queue-unavailable"


@pytest.mark.emulator
def test_a_queue_that_is_not_set_stops_the_whole_call(
    client: SQSClient, queues: dict[str, Any]
) -> None:
    jobs = SqsJobs(client, parse=queues["parse"])
    with pytest.raises(ConfigurationError) as refused_:
        jobs.send([ParseJob(KEY, 1), PublishJob(KEY, 1)])
    assert refused_.value.code == "queue-missing"
    assert received(client, queues["parse"]) == []
