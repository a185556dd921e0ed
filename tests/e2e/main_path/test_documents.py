"""Documents over the API: published, repeated, replaced, uploaded, and proven offline."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from custody_client import Client
from tests.support.service import Person, Service, new_tenant, of, refusal, texts


@dataclass(frozen=True)
class Wiki:
    service: Service
    tenant: str
    writer: Client
    reader: Client

    def put(self, document_id: str, content: str | bytes, **fields: Any) -> dict[str, Any]:
        """Published: waited for where a busy machine answers 202."""
        fields.setdefault("content_type", "text/markdown")
        reply = self.writer.put_document(document_id, "wiki", content, **fields)
        if reply["state"] == "PENDING":
            self.writer.wait_for_document(document_id, version=reply["version"], timeout=240)
            again = {k: v for k, v in fields.items() if k != "idempotency_key"}
            reply = self.writer.put_document(document_id, "wiki", content, **again)
        return dict(reply)


@pytest.fixture(scope="module")
def wiki(service: Service) -> Wiki:
    tenant = new_tenant("docs")
    service.source(tenant, "wiki")
    return Wiki(
        service,
        tenant,
        service.client(Person(tenant, "pat", ("publishers",), ("read", "write"))),
        service.client(Person(tenant, "rita")),
    )


def test_a_document_is_published_and_the_same_again_changes_nothing(wiki: Wiki) -> None:
    content = "# Badger\n\nThe badger digs under the hedge.\n"
    first = wiki.put("badger", content, title="Badgers", metadata={"site": "hedge", "depth": 3})
    assert (first["state"], first["version"]) == ("ACTIVE", 1)
    assert first["content_sha256"] == hashlib.sha256(content.encode()).hexdigest()
    assert first["chunk_count"] == 1
    assert first["statement_id"]
    again = wiki.writer.put_document(
        "badger", "wiki", content, "text/markdown", title="Badgers",
        metadata={"site": "hedge", "depth": 3},
    )  # fmt: skip
    assert again["unchanged"] is True
    assert (again["version"], again["statement_id"]) == (1, first["statement_id"])
    found = wiki.reader.search("where does the badger dig", filter={"depth": {"gte": 2, "lte": 3}})
    assert [item["document_id"] for item in found["results"]] == ["badger"]
    assert found["results"][0]["title"] == "Badgers"


def test_the_status_tells_new_from_unchanged(wiki: Wiki) -> None:
    body = {
        "document_id": "status",
        "source_id": "wiki",
        "content": "The stoat turns white in winter.",
        "content_type": "text/plain",
    }
    writer = Person(wiki.tenant, "pat", ("publishers",), ("read", "write"))

    def post() -> tuple[int, dict[str, Any]]:
        reply = wiki.service.send(
            "POST", "/documents", person=writer, content=json.dumps(body).encode()
        )
        return reply.status_code, reply.json()

    status, reply = post()
    assert (status, reply["state"]) in {(201, "ACTIVE"), (202, "PENDING")}
    wiki.writer.wait_for_document("status", timeout=240)
    status, reply = post()
    assert (status, reply["unchanged"], reply["version"]) == (200, True, 1)
    body["content"] = "The stoat turns brown in spring."
    status, reply = post()
    assert status in {201, 202}
    assert (reply["unchanged"], reply["version"]) == (False, 2)


def test_going_back_to_an_earlier_content_is_a_version_of_its_own(wiki: Wiki) -> None:
    for version, animal in enumerate(("adder", "bittern", "adder"), start=1):
        reply = wiki.put("aba", f"In the reeds lives the {animal}.", content_type="text/plain")
        assert (reply["version"], reply["unchanged"]) == (version, False) or reply["unchanged"]
    found = wiki.reader.search("what lives in the reeds", k=50)
    assert [(item["version"], item["text"]) for item in of(found, "aba")] == [
        (3, "In the reeds lives the adder.")
    ]
    shown = wiki.writer.get_document("aba")
    states = {one["version"]: one["state"] for one in shown["versions"]}
    assert states == {1: "SUPERSEDED", 2: "SUPERSEDED", 3: "ACTIVE"}


def test_twin_documents_live_and_die_apart(wiki: Wiki) -> None:
    content = "The twin otters share one holt."
    for name in ("twin-a", "twin-b"):
        wiki.put(name, content, content_type="text/plain")
    wiki.put("twin-a", "The first otter left.", content_type="text/plain")
    found = wiki.reader.search("twin otters holt", k=50)
    assert [item["text"] for item in of(found, "twin-b")] == [content]
    assert content not in [item["text"] for item in of(found, "twin-a")]


def test_documents_are_listed_with_what_the_caller_may_see(wiki: Wiki) -> None:
    wiki.put("listed", "A listed hare.", content_type="text/plain")
    wiki.put(
        "hidden", "A hidden hare.", content_type="text/plain", acl=["group:safety"]
    )  # fmt: skip
    seen = {d["document_id"] for d in wiki.reader.iter_documents(source_id="wiki")}
    assert "listed" in seen
    assert "hidden" not in seen
    theirs = {
        d["document_id"] for d in wiki.writer.iter_documents(source_id="wiki", state="ACTIVE")
    }
    assert {"listed", "hidden"} <= theirs
    stranger = wiki.service.client(Person(new_tenant("other"), "rita"))
    assert stranger.list_documents()["documents"] == []
    assert refusal(lambda: stranger.get_document("listed")) == (404, "not-found")
    assert refusal(lambda: wiki.reader.get_document("hidden")) == (404, "not-found")
    assert refusal(lambda: wiki.reader.get_document("never-was")) == (404, "not-found")


def test_provenance_is_verified_offline_with_the_public_key_alone(wiki: Wiki) -> None:
    content = "# Swift\n\nThe swift sleeps on the wing.\n"
    reply = wiki.put("swift", content)
    found = wiki.reader.provenance("swift")
    envelope: Any = found["envelope"]
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    covered = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    key = load_der_public_key(wiki.service.public_key())
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(signature, covered, ec.ECDSA(SHA256()))
    with pytest.raises(InvalidSignature):
        key.verify(signature, covered.replace(b"swift", b"swipe"), ec.ECDSA(SHA256()))

    statement = json.loads(payload)
    predicate = statement["predicate"]
    assert kind == b"application/vnd.in-toto+json"
    assert (
        statement["subject"][0]["digest"]["sha256"] == hashlib.sha256(content.encode()).hexdigest()
    )
    named = {name: predicate[name] for name in ("tenant", "source", "document", "version")}
    assert named == {"tenant": wiki.tenant, "source": "wiki", "document": "swift", "version": 1}
    acl = rfc8785.dumps([f"tenant:{wiki.tenant}"])
    assert predicate["acl"]["sha256"] == hashlib.sha256(acl).hexdigest()
    assert hashlib.sha256(payload).hexdigest() == reply["statement_id"]

    # The one chunk that is served is the one leaf of the signed tree (RFC 6962).
    (item,) = of(wiki.reader.search("how does the swift sleep"), "swift")
    leaf = {
        "document": item["document_id"],
        "version": item["version"],
        "ordinal": 0,
        **{name: item[name] for name in ("title", "heading", "page", "text")},
    }
    root = hashlib.sha256(b"\x00" + rfc8785.dumps(leaf)).hexdigest()
    assert predicate["chunks"] == {"root": root, "count": 1}


def test_a_repeat_under_its_key_gives_the_first_answer_and_another_body_is_refused(
    wiki: Wiki,
) -> None:
    def put(content: str, key: str) -> dict[str, Any]:
        return dict(
            wiki.writer.put_document(
                "once", "wiki", content, "text/plain", idempotency_key=key
            )
        )  # fmt: skip

    first = put("The newt is green.", "key-1")
    assert put("The newt is green.", "key-1") == first
    refused = refusal(lambda: put("The newt is blue.", "key-1"))
    assert refused == (422, "idempotency-key-reused")
    wiki.writer.wait_for_document("once", timeout=240)
    assert (
        texts(wiki.reader.search("colour of the newt", source_ids=["wiki"], k=50)).count("newt")
        == 1
    )


def test_a_change_to_what_has_moved_on_is_refused(wiki: Wiki) -> None:
    wiki.put("moving", "The eel is in the pond.", content_type="text/plain")
    shown: Any = wiki.writer.get_document("moving")
    stale = str(shown["revision"] - 1)
    refused = refusal(
        lambda: wiki.writer.put_document(
            "moving", "wiki", "The eel is in the sea.", "text/plain", if_match=stale
        )
    )
    assert refused == (412, "if-match-failed")
    assert "pond" in texts(wiki.reader.search("where is the eel"))


def test_only_a_writer_of_the_source_may_publish_and_only_its_own_documents(wiki: Wiki) -> None:
    wiki.put("owned", "The heron owns the weir.", content_type="text/plain")
    outsider = wiki.service.client(Person(wiki.tenant, "otto", ("others",), ("read", "write")))
    refused = refusal(lambda: outsider.put_document("new", "wiki", "No heron.", "text/plain"))
    assert refused == (403, "not-a-writer")
    assert refusal(lambda: wiki.reader.put_document("new", "wiki", "No.", "text/plain")) == (
        403,
        "scope-missing",
    )
    wiki.service.source(wiki.tenant, "notes", writers=["group:others"])
    refused = refusal(lambda: outsider.put_document("owned", "notes", "Mine now.", "text/plain"))
    assert refused == (409, "document-owned-elsewhere")
    assert "owns the weir" in texts(wiki.reader.search("who owns the weir"))


def test_a_presigned_upload_is_published_like_any_drop(wiki: Wiki, tmp_path: Path) -> None:
    file = tmp_path / "upload me.txt"
    file.write_text("The lapwing was uploaded with a presigned request.")
    ticket = wiki.writer.upload_file(file, "wiki", content_type="text/plain")
    drop = wiki.writer.wait_for_drop("upload me.txt", "wiki", timeout=240)
    assert (drop["state"], drop["document_id"]) == ("ACTIVE", ticket["document_id"])
    assert "lapwing" in texts(wiki.reader.search("which bird was uploaded"))


def test_a_presigned_upload_takes_only_what_it_was_signed_for(wiki: Wiki) -> None:
    ticket = wiki.writer.create_upload("wiki", "signed.txt", "text/plain", 10)
    headers = dict(ticket["headers"])
    url = ticket["url"].replace("signed.txt", "other.txt")
    reply = wiki.service.put_url(url, b"0123456789", headers)
    assert reply.status_code == 403
    assert wiki.service.keys(f"incoming/{wiki.tenant}/wiki/other.txt") == []
