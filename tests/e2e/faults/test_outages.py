"""Parts of the service fail for real: in a stack of its own, so that nobody else is disturbed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from custody_client import Client, CustodyApiError
from custody_local import opensearch
from custody_local.progress import Progress
from custody_local.stack import Stack
from tests.support import outages
from tests.support.service import PATIENCE, Person, Service, new_tenant, refusal, texts, until

QUESTION = "where does the canary sing"
WORDS = "The canary sings in the north gallery."


@dataclass(frozen=True)
class House:
    service: Service
    tenant: str
    person: Person
    client: Client

    def retry_after(self, queue: str, *, seconds: int) -> None:
        """What takes minutes in the deployed queue takes seconds here."""
        self.service.aws("sqs").set_queue_attributes(
            QueueUrl=self.service.queue(queue), Attributes={"VisibilityTimeout": str(seconds)}
        )

    def hurried(self, call: Callable[[Client], object]) -> object:
        with self.service.hurried(self.person) as client:
            return call(client)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    """On OpenSearch where it runs, unless CUSTODY_TEST_INDEX names the index."""
    lack = opensearch.missing()
    index = os.environ.get("CUSTODY_TEST_INDEX") or ("embedded" if lack else "opensearch")
    if lack and os.environ.get("CUSTODY_REQUIRE_OPENSEARCH") == "1":
        pytest.fail(f"CUSTODY_REQUIRE_OPENSEARCH=1, but: {lack}")
    if lack and index == "opensearch":
        pytest.skip(f"a node of its own is needed here: {lack}")
    folder = Path(tempfile.mkdtemp(prefix="custody-outages-"))
    stack = Stack(folder, progress=Progress(quiet=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENSEARCH_URL", raising=False)  # a shared node is nobody's to stop
        try:
            stack.up(port=0, index=index)  # type: ignore[arg-type]  # one of the two
            service = Service(stack)
            service.warm_up()
            tenant = new_tenant("outage")
            service.source(tenant, "wiki")
            scopes = ("read", "write", "erase", "govern", "audit")
            person = Person(tenant, "pat", ("publishers",), scopes)
            client = service.client(person)
            client.put_document("canary", "wiki", WORDS, "text/plain")
            client.wait_for_document("canary", timeout=PATIENCE)
            yield House(service, tenant, person, client)
            service.close()
        finally:
            stack.down()
            shutil.rmtree(folder, ignore_errors=True)


def patiently(call: Callable[[], object]) -> tuple[int, str]:
    """A cold worker may be cut off by the gateway first (504, without a code of ours)."""

    def told() -> tuple[int, str] | None:
        status, code = refusal(call)
        return None if code.startswith("http-") else (status, code)

    return until("an answer of the service itself", told)


type Outage = Callable[[Service, str], AbstractContextManager[None]]
OUTAGES: dict[str, tuple[Outage, ...]] = {
    "embedded": (outages.damaged,),
    "opensearch": (outages.frozen, outages.killed, outages.halved),
}


@pytest.mark.parametrize("outage", [each for kind in OUTAGES.values() for each in kind])
def test_an_index_that_is_down_is_503_and_never_an_empty_result(
    house: House, outage: Outage
) -> None:
    index = house.service.state.index
    if outage not in OUTAGES[index]:
        pytest.skip(f"no outage of the index {index}")
    assert WORDS in texts(house.client.search(QUESTION))
    with outage(house.service, house.tenant):
        for call in (
            lambda client: client.search(QUESTION),
            lambda client: client.search(QUESTION, route="sparse"),
            lambda client: client.search(QUESTION, route="dense"),
            lambda client: client.search("something that no document says"),
            lambda client: client.answer(QUESTION),
        ):
            refused = patiently(lambda call=call: house.hurried(call))  # type: ignore[misc]  # bound now
            assert refused == (503, "index-unavailable")
        if outage is not outages.halved:  # the node itself is well
            health = until(
                "health tells of it",
                lambda: (found := house.client.health())["status"] == "unavailable" and found,
            )
            assert health["dependencies"]["index"] == "unavailable"
        assert house.client.get_document("canary")["state"] == "ACTIVE"

    def back() -> bool:
        try:
            return WORDS in texts(house.client.search(QUESTION))
        except CustodyApiError:
            return False

    until("the index is back", back)
    until("health tells of that too", lambda: house.client.health()["status"] == "ok")


def test_an_index_that_refuses_writes_keeps_answering_and_what_waits_is_done_later(
    house: House,
) -> None:
    if house.service.state.index != "opensearch":
        pytest.skip("only a node refuses writes; who holds a file's lock is in its contract")
    client = house.client
    client.put_document("leaver", "wiki", "The heron leaves at dusk.", "text/plain")
    client.wait_for_document("leaver", timeout=PATIENCE)
    house.retry_after("PublishQueue", seconds=20)
    house.retry_after("EraseQueue", seconds=30)
    with outages.refusing_writes(house.service, house.tenant):
        reply = client.put_document("arrival", "wiki", "The heron is here.", "text/plain")
        assert reply["state"] == "PENDING"
        assert "at dusk" in texts(client.search("what does the heron do"))
        erasure = client.delete_document("leaver", "it has left")["erasure_id"]
        found = texts(client.search("what does the heron do"))
        assert "at dusk" not in found
        assert "is here" not in found
        assert WORDS in texts(client.search(QUESTION))
        receipt = until(
            "the receipt tells of it",
            lambda: (told := client.erasure(erasure))["state"] == "PARTIAL" and told,
        )
        levels = {each["location"]: each["level"] for each in receipt["artifacts"]}
        assert levels["index"] == "hidden"
    client.wait_for_document("arrival", timeout=PATIENCE)
    assert client.wait_for_erasure(erasure, timeout=PATIENCE)["state"] == "COMPLETE"
    found = texts(client.search("what does the heron do"))
    assert "is here" in found
    assert "at dusk" not in found


def test_a_document_that_is_not_published_in_time_is_202_and_comes_later(house: House) -> None:
    functions = house.service.aws("lambda")
    (mapping,) = functions.list_event_source_mappings(
        FunctionName=f"{house.service.state.stack_name}-parse"
    )["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        body = {
            "document_id": "late",
            "source_id": "wiki",
            "content": "The nightingale comes late.",
            "content_type": "text/plain",
        }
        reply = house.service.send(
            "POST", "/documents", person=house.person, content=json.dumps(body).encode()
        )
        told = reply.json()
        assert (reply.status_code, told["state"], told["version"]) == (202, "PENDING", 1)
        assert told["statement_id"] is None
        assert "nightingale" not in texts(house.client.search("who comes late"))
    finally:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    house.client.wait_for_document("late", timeout=PATIENCE)
    assert "nightingale" in texts(house.client.search("who comes late"))


def test_poison_ends_in_the_dead_letter_queue_and_holds_nothing_up(house: House) -> None:
    sqs = house.service.aws("sqs")
    queue, dead = house.service.queue("IngestQueue"), house.service.queue("IngestDlq")
    house.retry_after("IngestQueue", seconds=3)
    bucket = {"bucket": {"name": "somebody-elses"}, "object": {"key": "incoming/a/b/c.txt"}}
    poison = ["no JSON", "[]", json.dumps({"Records": [{"s3": bucket}]})]
    for body in poison:
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    version = house.service.drop(
        house.tenant, "wiki", "behind.txt", b"The thrush came behind the poison.", "text/plain"
    )
    drop = house.service.dropped(house.client, "wiki", "behind.txt", version)
    assert drop["state"] == "ACTIVE"

    found: dict[str, Any] = {}

    def all_dead() -> bool:
        for message in sqs.receive_message(
            QueueUrl=dead, MaxNumberOfMessages=10, VisibilityTimeout=600
        ).get("Messages", ()):
            found[message["MessageId"]] = message["Body"]
        return len(found) == len(poison)

    until("the poison is in the dead-letter queue", all_dead)
    assert sorted(found.values()) == sorted(poison)
    assert WORDS in texts(house.client.search(QUESTION))


def test_an_unreachable_key_keeps_a_version_back_until_it_can_be_signed(house: House) -> None:
    kms = house.service.aws("kms")
    key = house.service.state.outputs["IngestionKeyArn"]
    house.retry_after("PublishQueue", seconds=10)
    kms.disable_key(KeyId=key)
    try:
        reply = house.client.put_document("canary", "wiki", "The canary left.", "text/plain")
        assert reply["state"] == "PENDING"
        found = house.client.search(QUESTION)
        assert WORDS in texts(found)
        assert "The canary left." not in texts(found)
    finally:
        kms.enable_key(KeyId=key)
    house.client.wait_for_document("canary", version=2, timeout=PATIENCE)
    assert "The canary left." in texts(house.client.search(QUESTION))
    house.client.put_document("canary", "wiki", WORDS, "text/plain")
    house.client.wait_for_document("canary", version=3, timeout=PATIENCE)
