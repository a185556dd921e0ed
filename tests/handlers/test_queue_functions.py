"""Queue functions: each message for itself, the failed ones alone come again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch.exceptions import UnexpectedBatchTypeError

from custody.application.erasure.request import ErasureRequest
from custody.application.failure import Failure
from custody.application.ingestion.change_acl import AclRequest
from custody.bootstrap import Service
from custody.domain.jobs import EmbedJob, ParseJob, PublishJob, encode
from custody.domain.ledger.drops import DropState
from custody.domain.model import DocumentKey, SourceKey, VersionState
from custody_memory.ports import FixedLimits
from tests.support.functions import event, events, load
from tests.support.ingest_world import TENANT, WRITER, World, principal, request

GUIDE = DocumentKey(TENANT, "guide")
WIKI = SourceKey(TENANT, "wiki")


@pytest.fixture
def world() -> World:
    world = World()
    world.source(mirror_deletes=True)
    world.while_waiting = lambda: None
    return world


@pytest.fixture
def invoke(world: World) -> Any:
    def call(name: str) -> list[int]:
        """The positions, from 1, of the messages that are to come again."""
        function = name.partition("/")[0]
        handler = load(function).batches.handler(lambda: world.service)
        given = event(name)
        ids = [record["messageId"] for record in given["Records"]]
        reply = handler(given, None)
        return [ids.index(one["itemIdentifier"]) + 1 for one in reply["batchItemFailures"]]

    return call


EXPECTED = {
    "accept/created": [],
    "accept/created-odd-key": [],
    "accept/created-sidecar": [],
    "accept/created-forged-sidecar": [],
    "accept/removed": [],
    "accept/dotdot": [],
    "accept/unknown-source": [],
    "accept/test-event": [],
    "accept/not-json": [1],
    "accept/unknown-body": [1],
    "accept/no-records": [1],
    "accept/no-key": [1],
    "accept/other-bucket": [1],
    "accept/invalid-utf8-key": [1],
    "accept/mixed": [2, 4],
    "parse/job": [],
    "parse/unknown-document": [],
    "parse/malformed": [1, 2, 3, 4, 5],
    "parse/other-queue": [1],
    "parse/mixed": [1],
    "embed/job": [],
    "embed/no-such-part": [1],
    "embed/malformed": [1, 2],
    "embed/other-queue": [1],
    "publish/job": [],
    "publish/cleanup": [],
    "publish/reject": [],
    "publish/acl": [],
    "publish/mixed": [1, 3],
    "publish/unknown-document": [],
    "propagate/erase": [],
    "propagate/unknown-erasure": [1],
    "propagate/mixed": [1, 2, 3],
}


def test_every_event_is_expected() -> None:
    functions = {name.partition("/")[0] for name in EXPECTED}
    assert {f"{one}/{name}" for one in functions for name in events(one)} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_only_the_messages_that_failed_come_again(invoke: Any, world: World, name: str) -> None:
    _prepare(world, name)
    assert invoke(name) == EXPECTED[name]


def _prepare(world: World, name: str) -> None:
    function = name.partition("/")[0]
    if function == "accept":
        world.drop("notes.txt", b"Some notes.")
        return
    world.post_document(WRITER, request("guide", "The\nguide."))
    if function in ("embed", "publish"):
        world.parse(world.queue.sent[0])  # type: ignore[arg-type]  # a parse job
    if function == "publish":
        world.handle(world.queue.sent[1])
    if function == "propagate":
        world.work()
        world.erasures.request(WRITER, ErasureRequest("guide", "why"))


USE_CASES = {
    "accept": ["accept_drop"],
    "parse": ["parse"],
    "embed": ["embed"],
    "publish": ["close_rejected", "publish", "clean_up_superseded"],
    "propagate": ["propagate_erasure"],
}


@pytest.mark.parametrize("function", USE_CASES)
def test_a_batch_without_messages_makes_the_use_cases_and_does_nothing(
    function: str, world: World
) -> None:
    world.killer.calls = 0
    service = Service(world.ports, FixedLimits())
    handler = load(function).batches.handler(lambda: service)
    assert handler({"Records": []}, None) == {"batchItemFailures": []}
    every = {name for names in USE_CASES.values() for name in names}
    assert [name for name in vars(service) if name in every] == USE_CASES[function]
    assert world.killer.calls == 0


@pytest.mark.parametrize("function", USE_CASES)
def test_what_is_no_batch_at_all_is_refused(world: World, function: str) -> None:
    handler = load(function).batches.handler(lambda: world.service)
    with pytest.raises(UnexpectedBatchTypeError):
        handler({}, None)


def test_the_chain_from_a_drop_to_a_live_document(invoke: Any, world: World) -> None:
    world.drop("notes.txt", b"Some notes.")
    assert invoke("accept/created") == []
    world.work()
    assert world.texts() == {"Some notes."}


def test_good_records_beside_a_malformed_one_are_done_once(invoke: Any, world: World) -> None:
    world.drop("notes.txt", b"Some notes.")
    assert invoke("accept/mixed") == [2, 4]
    assert world.ledger.drop(WIKI, "notes.txt").version == 1  # type: ignore[union-attr]  # it is there
    assert len(world.queue.sent) == 1


def test_a_key_is_decoded_once(invoke: Any, world: World) -> None:
    """``+`` is a space, ``%2B`` a plus and ``%2520`` the three characters ``%20``."""
    world.drop("a b+c%20d/日本.txt", b"odd")
    assert invoke("accept/created-odd-key") == []
    world.work()
    assert world.texts() == {"odd"}


def test_a_forged_sidecar_is_rejected_and_the_file_is_not_served(invoke: Any, world: World) -> None:
    world.drop("forged.txt", b"Trust me.")
    claims = {"metadataAttributes": {"trust_domain": "board", "acl": ["everyone"]}}
    world.drop("forged.txt.metadata.json", json.dumps(claims).encode())
    assert invoke("accept/created-forged-sidecar") == []
    world.work()
    drop = world.ledger.drop(WIKI, "forged.txt")
    assert drop is not None
    assert (drop.state, drop.reasons) == (DropState.REJECTED, ("sidecar-claims-trust",))
    assert world.texts() == set()


def test_a_path_with_dots_is_rejected_where_it_is(invoke: Any, world: World) -> None:
    world.drop("../secrets.txt", b"x")
    assert invoke("accept/dotdot") == []
    assert world.ledger.drop(WIKI, "../secrets.txt").reasons == ("invalid-path",)  # type: ignore[union-attr]  # it is there


def test_a_failed_message_is_told_with_its_reason(
    invoke: Any, caplog: pytest.LogCaptureFixture
) -> None:
    invoke("accept/unknown-body")
    (failed,) = [record for record in caplog.records if record.message == "message failed"]
    assert failed.__dict__["code"] == "malformed-event"
    assert failed.__dict__["message_id"] == "00000000-0000-4000-8000-000000000001"


def test_an_index_that_is_down_brings_the_publish_jobs_back(invoke: Any, world: World) -> None:
    _prepare(world, "publish/job")
    world.index.down = True
    assert invoke("publish/job") == [1]
    assert world.ledger.version(GUIDE, 1).state is VersionState.PENDING  # type: ignore[union-attr]  # it is there
    world.index.down = False
    assert invoke("publish/job") == []
    assert world.texts() == {"The", "guide."}


def test_a_fault_that_nobody_foresaw_brings_only_its_own_message_back() -> None:
    done: list[PublishJob] = []

    def work(jobs: Sequence[PublishJob]) -> tuple[Failure[PublishJob], ...]:
        if any(job.version == 2 for job in jobs):
            raise ZeroDivisionError
        done.extend(jobs)
        return ()

    handler = load("publish").batches.handler(
        lambda: SimpleNamespace(publish=work, close_rejected=lambda jobs: ())
    )
    jobs = [PublishJob(GUIDE, version) for version in (1, 2, 3)]
    given = event("publish/job")
    records = [
        given["Records"][0] | {"messageId": str(job.version), "body": encode(job)} for job in jobs
    ]
    reply = handler({"Records": records}, None)
    assert reply == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert [job.version for job in done] == [1, 3]


def test_a_reject_job_closes_the_version_that_waits(invoke: Any, world: World) -> None:
    _prepare(world, "publish/reject")
    assert invoke("publish/reject") == []
    record = world.ledger.version(GUIDE, 1)
    assert record is not None
    assert (record.state, record.reasons) == (VersionState.REJECTED, ("malformed-pdf",))
    assert invoke("publish/job") == []
    assert world.texts() == set()


def test_one_refresh_serves_a_whole_batch(world: World) -> None:
    for number in range(5):
        world.accept.from_api(WRITER, request(f"doc{number}", f"text {number}"))
    jobs: list[PublishJob] = []
    world.queue.drain({ParseJob: world.handle, EmbedJob: world.handle, PublishJob: jobs.append})
    world.index.calls.clear()
    assert world.publish(jobs) == ()
    assert world.index.calls.count("refresh") == 1
    assert len(world.texts()) == 5


def test_an_acl_job_puts_the_change_in_force(invoke: Any, world: World) -> None:
    _prepare(world, "publish/job")
    world.work()
    world.change_acl(WRITER, AclRequest("guide", ("user:bob",)))
    assert invoke("publish/acl") == []
    assert world.texts(principal("bob")) == {"The", "guide."}
