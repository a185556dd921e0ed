"""What is erased is gone from every read at once, and from every copy soon."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from custody.domain.model import DocumentKey
from custody.domain.storage import object_keys
from custody_client import Client
from tests.support.service import Person, Service, new_tenant, refusal, texts, until

NAME = f"Odalys{uuid.uuid4().hex[:8]}"  # stands in nothing else that shares the index
SECRET = f"The permit for the Fish Quay is held by {NAME} Marrane."
QUESTION = "Who holds the hydrant permit for the Fish Quay?"


@dataclass(frozen=True)
class Erased:
    tenant: str
    writer: Client
    reader: Client
    erasure_id: str
    answer_id: str


@pytest.fixture(scope="module")
def erased(service: Service) -> Erased:
    """Erased, and everything that must hold at once was seen to hold at once."""
    tenant = new_tenant("erase")
    service.source(tenant, "wiki")
    writer = service.client(Person(tenant, "pat", ("publishers",), ("read", "write", "erase")))
    reader = service.client(Person(tenant, "rita"))
    writer.put_document("permit", "wiki", "The permit was held by somebody.", "text/plain")
    writer.wait_for_document("permit", timeout=240)
    writer.put_document("permit", "wiki", SECRET, "text/plain")
    writer.wait_for_document("permit", version=2, timeout=240)
    writer.put_document("canary", "wiki", "The quay has four hydrants.", "text/plain")
    writer.wait_for_document("canary", timeout=240)
    assert NAME in texts(reader.search(QUESTION))
    given = reader.answer(QUESTION)
    assert NAME in "".join(item["text"] for item in given["evidence"])

    accepted = writer.delete_document("permit", "its holder asked for it")
    assert NAME not in texts(reader.search(QUESTION, k=100))
    after = reader.answer(QUESTION, k=100)
    assert NAME not in "".join(item["text"] for item in after["evidence"])
    assert NAME not in (after["envelope"] or "")
    assert refusal(lambda: reader.get_document("permit")) == (404, "not-found")
    return Erased(tenant, writer, reader, accepted["erasure_id"], given["answer_id"])


def test_the_receipt_tells_of_every_copy_and_ends_complete(erased: Erased) -> None:
    receipt = erased.writer.wait_for_erasure(erased.erasure_id, timeout=240)
    assert receipt["state"] == "COMPLETE"
    assert {artifact["level"] for artifact in receipt["artifacts"]} == {"deleted"}
    assert all(artifact["verified_at"] for artifact in receipt["artifacts"])
    assert refusal(lambda: erased.reader.erasure(erased.erasure_id)) == (404, "not-found")


def test_nothing_of_it_is_left_in_the_bucket_or_the_index(erased: Erased, service: Service) -> None:
    erased.writer.wait_for_erasure(erased.erasure_id, timeout=240)
    key = DocumentKey(erased.tenant, "permit")
    for kind in ("raw", "evidence", "vectors"):
        # Version 3 is what another test publishes under the same id afterwards.
        folder = object_keys.folder(kind, key)
        left = {row.removeprefix(folder)[0] for row in service.keys(folder)}
        assert left <= {"3"}
        assert service.keys(object_keys.folder(kind, DocumentKey(erased.tenant, "canary")))
    path = service.state.embedded_index_path
    if path:
        files = [file for file in (Path(path), Path(f"{path}-wal")) if file.exists()]
        stored = b"".join(file.read_bytes() for file in files)
        assert b"four hydrants" in stored
        assert NAME.encode() not in stored


def test_an_earlier_answer_keeps_its_record_but_not_the_text(erased: Erased) -> None:
    stored = erased.reader.get_answer(erased.answer_id)
    items = [item for item in stored["evidence"] if item["document_id"] == "permit"]
    assert items
    assert [(item["available"], item["text"]) for item in items] == [(False, None)] * len(items)


def test_what_stays_is_still_served_and_the_id_can_be_used_again(erased: Erased) -> None:
    assert "four hydrants" in texts(erased.reader.search("how many hydrants has the quay"))
    erased.writer.wait_for_erasure(erased.erasure_id, timeout=240)
    reply = erased.writer.put_document("permit", "wiki", "The permit is free.", "text/plain")
    assert reply["version"] == 3
    erased.writer.wait_for_document("permit", version=3, timeout=240)
    found = until("the new version", lambda: texts(erased.reader.search("is the permit free")))
    assert "The permit is free." in found
    assert NAME not in found


def test_erasing_needs_its_scope_and_a_writer_or_a_governor(
    erased: Erased, service: Service
) -> None:
    assert refusal(lambda: erased.reader.delete_document("canary", "no")) == (403, "scope-missing")
    other = service.client(Person(erased.tenant, "otto", scopes=("read", "erase")))
    assert refusal(lambda: other.delete_document("canary", "no")) == (403, "not-a-writer")
    stranger = Person(new_tenant("other"), "pat", ("publishers",), ("read", "erase", "govern"))
    refused = refusal(lambda: service.client(stranger).delete_document("canary", "no"))
    assert refused == (404, "not-found")
    assert "four hydrants" in texts(erased.reader.search("how many hydrants has the quay"))
