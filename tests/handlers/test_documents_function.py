"""Documents, uploads, drops, sources and erasures over HTTP: every event gets its answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any, NoReturn

import boto3
import pytest
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer
from moto import mock_aws

from custody.adapters.powertools_idempotency import PowertoolsIdempotency
from custody.application.erasure.request import ErasureRequest
from custody.domain.model import DocumentKey
from custody.errors import Unavailable
from tests.support.functions import event, events, load
from tests.support.governed import govern, named
from tests.support.ingest_world import TENANT, WRITER, World
from tests.support.ingest_world import request as document

GUIDE = DocumentKey(TENANT, "guide")
type Expected = dict[str, tuple[int, str | None, str | None]]

DOCUMENTS: Expected = {
    "put": (201, None, None),
    "put-full": (201, None, None),
    "put-base64": (201, None, None),
    "put-idempotent": (201, None, None),
    "put-idempotent-other-body": (201, None, None),
    "put-if-match-new": (201, None, None),
    "put-if-match-failed": (412, "if-match-failed", None),
    "put-if-match-nonsense": (422, "invalid-field", "If-Match"),
    "put-bad-idempotency-key": (422, "invalid-field", "Idempotency-Key"),
    "put-malformed-json": (400, "malformed-json", None),
    "put-array": (400, "malformed-json", None),
    "put-empty-body": (400, "malformed-json", None),
    "put-repeated-key": (400, "malformed-json", "document_id"),
    "put-nan": (400, "malformed-json", None),
    "put-invalid-utf8": (400, "invalid-utf8", None),
    "put-lone-surrogate": (400, "invalid-utf8", None),
    "put-unknown-field": (422, "unknown-field", "trust_domain"),
    "put-two-contents": (422, "invalid-field", "content"),
    "put-no-content": (422, "invalid-field", "content"),
    "put-bad-base64": (422, "invalid-field", "content_base64"),
    "put-empty-content": (422, "empty-document", "content"),
    "put-content-as-number": (422, "invalid-field", "content"),
    "put-naive-time": (422, "invalid-field", "valid_from"),
    "put-week-date": (422, "invalid-field", "valid_from"),
    "put-empty-validity": (422, "invalid-field", "valid_to"),
    "put-bad-id": (422, "invalid-field", "document_id"),
    "put-empty-id": (422, "invalid-field", "document_id"),
    "put-huge-metadata": (422, "invalid-field", "metadata"),
    "put-deep-metadata": (422, "invalid-field", None),
    "put-wide-acl": (422, "acl-too-wide", "acl.allow"),
    "put-bad-term": (422, "invalid-field", "acl.allow"),
    "put-many-terms": (422, "invalid-field", "acl.allow"),
    "put-zip-as-pdf": (415, "type-mismatch", "content_type"),
    "put-unsupported-type": (415, "type-not-supported", "content_type"),
    "put-unknown-source": (404, "source-not-found", "source_id"),
    "put-not-a-writer": (403, "not-a-writer", None),
    "put-foreign-tenant": (404, "source-not-found", "source_id"),
    "put-without-scope": (403, "scope-missing", None),
    "put-no-token": (401, "token-missing", None),
    "put-expired-token": (401, "token-expired", None),
    "list": (200, None, None),
    "list-unknown-parameter": (422, "unknown-field", "page"),
    "list-unknown-state": (422, "invalid-field", "state"),
    "show": (200, None, None),
    "show-as-reader": (200, None, None),
    "show-unseen": (404, "not-found", None),
    "show-missing": (404, "not-found", None),
    "provenance": (200, None, None),
    "provenance-version-as-word": (422, "invalid-field", "version"),
    "provenance-unseen": (404, "not-found", None),
    "access": (200, None, None),
    "access-before": (200, None, None),
    "access-ahead": (422, "invalid-field", "at"),
    "access-not-a-time": (422, "invalid-field", "at"),
    "access-unknown-parameter": (422, "unknown-field", "when"),
    "access-missing": (404, "not-found", None),
    "access-without-scope": (403, "scope-missing", None),
    "put-acl": (200, None, None),
    "put-acl-narrower": (200, None, None),
    "put-acl-empty": (422, "invalid-field", "allow"),
    "put-acl-too-wide": (422, "acl-too-wide", "allow"),
    "put-acl-as-text": (422, "invalid-field", "allow"),
    "put-acl-unseen": (404, "not-found", None),
    "put-acl-without-scope": (403, "scope-missing", None),
    "upload": (201, None, None),
    "upload-too-large": (413, "object-too-large", "bytes"),
    "upload-of-nothing": (422, "invalid-field", "bytes"),
    "upload-bytes-as-text": (422, "invalid-field", "bytes"),
    "upload-dotdot": (422, "invalid-path", "name"),
    "upload-unsupported-type": (415, "type-not-supported", "content_type"),
    "upload-not-a-writer": (403, "not-a-writer", None),
    "drops": (200, None, None),
    "drops-of-others": (200, None, None),
    "drops-without-name": (422, "invalid-field", "name"),
}
ERASE: Expected = {
    "erase": (202, None, None),
    "erase-idempotent": (202, None, None),
    "erase-missing": (404, "not-found", None),
    "erase-unseen": (404, "not-found", None),
    "erase-foreign-tenant": (404, "not-found", None),
    "erase-reader": (403, "not-a-writer", None),
    "erase-without-reason": (422, "invalid-field", "reason"),
    "erase-without-body": (400, "malformed-json", None),
    "erase-empty-reason": (422, "invalid-field", "reason"),
    "erase-unknown-field": (422, "unknown-field", "cascade"),
    "erase-without-scope": (403, "scope-missing", None),
    "erase-if-match-failed": (412, "if-match-failed", None),
    "erasure": (404, "not-found", None),
    "erasure-unknown": (404, "not-found", None),
    "erasure-of-others": (404, "not-found", None),
}
GOVERN: Expected = {
    "put-source": (201, None, None),
    "put-source-full": (201, None, None),
    "replace-source": (200, None, None),
    "put-source-if-match": (200, None, None),
    "put-source-if-match-failed": (412, "if-match-failed", None),
    "put-source-isolated": (422, "not-available", "isolation"),
    "put-source-unknown-isolation": (422, "invalid-field", "isolation"),
    "put-source-unknown-sidecar": (422, "invalid-field", "sidecar"),
    "put-source-bool-as-text": (422, "invalid-field", "mirror_deletes"),
    "put-source-unknown-field": (422, "unknown-field", "reputation"),
    "put-source-no-writers": (422, "invalid-field", "writers"),
    "put-source-bad-writer": (422, "invalid-field", "writers"),
    "put-source-foreign-tenant-term": (422, "invalid-field", "writers"),
    "put-source-default-too-wide": (422, "acl-too-wide", "default_acl.allow"),
    "put-source-bad-id": (422, "invalid-field", "source_id"),
    "put-source-empty-trust-domain": (422, "invalid-field", "trust_domain"),
    "put-source-without-scope": (403, "scope-missing", None),
    "put-source-no-token": (401, "token-missing", None),
    "list-sources": (200, None, None),
    "list-sources-as-auditor": (200, None, None),
    "list-sources-without-scope": (403, "scope-missing", None),
    "quarantine": (200, None, None),
    "quarantine-without-reason": (422, "invalid-field", "reason"),
    "quarantine-empty-reason": (422, "invalid-field", "reason"),
    "quarantine-unknown-source": (404, "source-not-found", None),
    "quarantine-foreign-tenant": (404, "source-not-found", None),
    "quarantine-without-scope": (403, "scope-missing", None),
    "release": (200, None, None),
    "release-with-body": (400, "unexpected-body", None),
    "release-unknown-source": (404, "source-not-found", None),
    "list-keys": (200, None, None),
    "list-keys-as-auditor": (200, None, None),
    "list-keys-without-scope": (403, "scope-missing", None),
    **{
        f"{act}-{case}": expected
        for act in ("retire", "revoke")
        for case, expected in {
            "key": (200, None, None),
            "last-key": (409, "last-active-key", None),
            "unknown-key": (404, "key-not-found", None),
            "key-as-tenant": (403, "not-an-operator", None),
            "key-without-reason": (422, "invalid-field", "reason"),
            "key-force-as-text": (422, "invalid-field", "force"),
        }.items()
    },
    "cut": (200, None, None),
    "cut-since": (200, None, None),
    "cut-ahead": (422, "invalid-field", "not_before"),
    "cut-nobody": (422, "invalid-field", "subject"),
    "cut-control-character": (422, "invalid-field", "subject"),
    "cut-without-scope": (403, "scope-missing", None),
    "sign-policy": (201, None, None),
    "sign-policy-of-another-kind": (422, "invalid-policy", "document"),
    "sign-policy-unknown-kind": (404, "policy-not-found", None),
    "sign-policy-out-of-range": (422, "invalid-policy", "document"),
    "sign-policy-as-text": (422, "invalid-field", "document"),
    "sign-policy-without-scope": (403, "scope-missing", None),
    "activate-policy": (200, None, None),
    "activate-unknown-policy": (404, "policy-not-found", None),
    "activate-policy-no-digest": (422, "invalid-field", "digest"),
    "activate-policy-of-another-kind": (404, "policy-not-found", None),
    "roll-back-policy": (409, "no-earlier-policy", None),
    "roll-back-unknown-policy": (404, "policy-not-found", None),
    "show-policy": (200, None, None),
    "show-unknown-policy": (404, "policy-not-found", None),
    "policy-history": (200, None, None),
    "policy-history-without-scope": (403, "scope-missing", None),
    "list-indices": (200, None, None),
    "list-indices-as-auditor": (200, None, None),
    "list-indices-without-scope": (403, "scope-missing", None),
    "rebuild-indices": (202, None, None),
    "rebuild-indices-other-model": (202, None, None),
    "rebuild-indices-unknown-model": (422, "invalid-field", "model"),
    "rebuild-indices-without-scope": (403, "scope-missing", None),
    "drop-index": (404, "not-found", None),
    "drop-unknown-index": (404, "not-found", None),
}
ALL = {"documents": DOCUMENTS, "erase": ERASE, "govern": GOVERN}
CASES = [(function, name) for function, cases in ALL.items() for name in cases]


@pytest.fixture
def world() -> World:
    world = World()
    world.source(max_acl=("group:staff", "user:bob"))
    world.post_document(WRITER, document("guide", "The guide."))
    world.deliver(world.drop("notes.txt", b"Some notes."))
    return world


@pytest.fixture(scope="module")
def apps() -> dict[str, ModuleType]:
    return {function: load(function) for function in ALL}


@pytest.fixture
def invoke(request: pytest.FixtureRequest, apps: dict[str, ModuleType], world: World) -> Any:
    def call(function: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "Idempotency-Key" in given["headers"]:
            world.remember_answers_in(request.getfixturevalue("idempotency"))
        response = apps[function].api.handler(lambda: world.service)(given, None)
        return response["statusCode"], json.loads(response["body"])

    return call


@pytest.fixture
def idempotency(monkeypatch: pytest.MonkeyPatch) -> Iterator[PowertoolsIdempotency]:
    """On a real table layout; a bad key or no header must not even ask for it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(
            TableName="idempotency",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield PowertoolsIdempotency(
            DynamoDBPersistenceLayer(table_name="idempotency", boto3_client=client)
        )


@pytest.mark.parametrize("function", ALL)
def test_every_event_is_expected(function: str) -> None:
    assert set(events(function)) == set(ALL[function])


@pytest.mark.parametrize(("function", "name"), CASES)
def test_each_event_gets_its_answer_and_bad_ones_change_nothing(
    invoke: Any, world: World, function: str, name: str
) -> None:
    status, code, field = ALL[function][name]
    digest = govern(world)
    keyid = world.policy_signer.verification_key().keyid
    before = (world.ledger.head(GUIDE), world.objects.keys(), world.queue.sent)
    given = named(event(f"{function}/{name}"), keyid=keyid, digest=digest)
    got, body = invoke(function, given)
    assert got == status, body
    if code is not None:
        assert body["code"] == code
        if field is not None:
            assert body["field"] == field
        after = (world.ledger.head(GUIDE), world.objects.keys(), world.queue.sent)
        assert after == before


def test_a_published_document_is_told_with_its_proof(invoke: Any) -> None:
    _, body = invoke("documents", event("documents/put-full"))
    assert set(body) == {
        "document_id", "version", "state", "content_sha256", "chunk_count", "chunk_root",
        "statement_id", "keyid", "inspection", "unchanged",
    }  # fmt: skip
    assert (body["state"], body["version"], body["unchanged"]) == ("ACTIVE", 1, False)
    assert body["inspection"]["content_hash"] == body["content_sha256"]
    status, again = invoke("documents", event("documents/put-full"))
    assert (status, again["unchanged"]) == (200, True)
    assert again["statement_id"] == body["statement_id"]


def test_a_slow_publication_is_202(invoke: Any, world: World) -> None:
    world.while_waiting = lambda: None
    status, body = invoke("documents", event("documents/put"))
    assert (status, body["state"], body["statement_id"]) == (202, "PENDING", None)


def test_a_rejected_document_is_422_with_its_reason(invoke: Any) -> None:
    given = event("documents/put")
    given["body"] = given["body"].replace("Employees", "!reject too-many-chunks")
    status, body = invoke("documents", given)
    assert (status, body.get("code")) == (422, "too-many-chunks")


def test_base64_content_keeps_its_bytes(invoke: Any, world: World) -> None:
    invoke("documents", event("documents/put-base64"))
    assert "Ärzte, 医療, 🩺" in world.texts()


def test_the_envelope_of_a_version_verifies_outside(invoke: Any, world: World) -> None:
    _, body = invoke("documents", event("documents/provenance"))
    assert body["log"] is None
    envelope = body["envelope"]
    payload = json.loads(base64.b64decode(envelope["payload"]))
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert payload["predicate"]["document"] == "guide"
    assert envelope["signatures"][0]["keyid"] == world.signer.verification_key().keyid


def test_drops_are_told_to_writers_only(invoke: Any) -> None:
    _, body = invoke("documents", event("documents/drops"))
    assert [(one["name"], one["state"], one["reasons"]) for one in body["drops"]] == [
        ("notes.txt", "ACTIVE", [])
    ]
    _, body = invoke("documents", event("documents/drops-of-others"))
    assert body["drops"] == []


def test_an_upload_goes_to_the_callers_own_prefix(invoke: Any) -> None:
    _, body = invoke("documents", event("documents/upload"))
    assert body["url"] == "memory:incoming/acme/wiki/handbook/2026 edition.pdf"
    assert body["document_id"].startswith("wiki:")
    assert body["method"] == "PUT"


def test_an_erasure_is_receipted(invoke: Any, world: World) -> None:
    status, body = invoke("erase", event("erase/erase"))
    assert status == 202
    world.work()
    given = event("erase/erasure")
    given["pathParameters"]["id"] = body["erasure_id"]
    status, receipt = invoke("erase", given)
    assert (status, receipt["state"]) == (200, "COMPLETE")
    assert all(one["level"] == "deleted" and one["verified_at"] for one in receipt["artifacts"])
    given = event("erase/erasure-of-others")
    given["pathParameters"]["id"] = body["erasure_id"]
    assert invoke("erase", given)[0] == 404


def test_a_source_tells_where_to_drop_and_its_revision(invoke: Any) -> None:
    _, body = invoke("govern", event("govern/put-source"))
    assert body["prefix"] == "incoming/acme/handbook/"
    assert (body["revision"], body["state"]) == (1, "ACTIVE")


class TestIdempotency:
    def test_a_repeat_gives_the_first_answer_and_does_nothing(
        self, invoke: Any, world: World
    ) -> None:
        first = invoke("documents", event("documents/put-idempotent"))
        sent = len(world.queue.sent)
        world.post_document(WRITER, document("leave-policy", "Changed by another request."))
        assert invoke("documents", event("documents/put-idempotent")) == first
        assert world.ledger.head(DocumentKey(TENANT, "leave-policy")).version == 2  # type: ignore[union-attr]  # it is there
        assert len(world.queue.sent) > sent

    def test_another_body_is_refused(self, invoke: Any, world: World) -> None:
        invoke("documents", event("documents/put-idempotent"))
        status, body = invoke("documents", event("documents/put-idempotent-other-body"))
        assert (status, body.get("code")) == (422, "idempotency-key-reused")
        assert "Something else." not in world.texts()

    def test_the_key_is_the_callers_own(self, invoke: Any) -> None:
        invoke("documents", event("documents/put-idempotent"))
        given = event("documents/put-idempotent-other-body")
        given["requestContext"]["authorizer"] |= {"subject": "eve", "principalId": "eve"}
        assert invoke("documents", given)[1]["code"] == "not-a-writer"

    def test_the_key_is_the_tenants_own(self, invoke: Any) -> None:
        invoke("documents", event("documents/put-idempotent"))
        given = event("documents/put-idempotent")
        given["requestContext"]["authorizer"]["tenant"] = "globex"
        assert invoke("documents", given)[1]["code"] == "source-not-found"

    def test_the_key_is_bound_to_what_if_match_says(self, invoke: Any) -> None:
        assert invoke("documents", event("documents/put-idempotent"))[0] == 201
        given = event("documents/put-idempotent")
        given["headers"]["If-Match"] = '"99"'
        given["multiValueHeaders"]["If-Match"] = ['"99"']
        assert invoke("documents", given)[1]["code"] == "if-match-failed"

    def test_a_token_without_the_scope_is_not_told_the_first_answer(self, invoke: Any) -> None:
        invoke("documents", event("documents/put-idempotent"))
        given = event("documents/put-idempotent")
        given["requestContext"]["authorizer"]["scope"] = "custody/read"
        status, body = invoke("documents", given)
        assert (status, body.get("code")) == (403, "scope-missing")

    def test_a_token_that_lost_a_scope_is_not_told_the_first_answer(self, invoke: Any) -> None:
        """Whichever scope the first call may have needed: some are asked for by what is written."""
        given = event("documents/put-idempotent")
        given["requestContext"]["authorizer"]["scope"] += " custody/govern"
        assert invoke("documents", given)[0] == 201
        status, body = invoke("documents", event("documents/put-idempotent"))
        assert (status, body.get("code")) == (403, "scope-missing")

    def test_whose_access_was_cut_is_not_told_the_first_answer(
        self, invoke: Any, world: World
    ) -> None:
        assert invoke("documents", event("documents/put-idempotent"))[0] == 201
        world.ledger.set_not_before(TENANT, "ci", world.clock.time + timedelta(days=1))
        status, body = invoke("documents", event("documents/put-idempotent"))
        assert (status, body.get("code")) == (401, "token-revoked")

    def test_what_was_erased_is_not_told_again(self, invoke: Any, world: World) -> None:
        assert invoke("documents", event("documents/put-idempotent"))[0] == 201
        world.erasures.request(WRITER, ErasureRequest("leave-policy", "it is over"))
        for _ in range(2):
            status, body = invoke("documents", event("documents/put-idempotent"))
            assert (status, body.get("code")) == (409, "document-erased")
            world.work()
        world.post_document(WRITER, document("leave-policy", "Another one."))
        status, body = invoke("documents", event("documents/put-idempotent"))
        assert (status, body.get("code")) == (409, "document-erased")

    def test_the_same_key_on_another_endpoint_is_another_call(self, invoke: Any) -> None:
        invoke("documents", event("documents/put-idempotent"))
        given = event("erase/erase-idempotent")
        given["headers"]["Idempotency-Key"] = "7b1c9a52"
        given["multiValueHeaders"]["Idempotency-Key"] = ["7b1c9a52"]
        assert invoke("erase", given)[0] == 202

    def test_one_key_for_two_documents_is_two_calls(self, invoke: Any, world: World) -> None:
        world.post_document(WRITER, document("second"))
        first = invoke("erase", event("erase/erase-idempotent"))
        given = event("erase/erase-idempotent")
        given["pathParameters"]["id"] = "second"
        second = invoke("erase", given)
        assert first[1] != second[1]

    def test_what_failed_can_be_tried_again(self, invoke: Any, world: World) -> None:
        real = world.ledger.accept
        world.ledger.accept = _raises  # type: ignore[method-assign]  # for a while
        status, body = invoke("documents", event("documents/put-idempotent"))
        assert (status, body.get("code")) == (503, "ledger-unavailable")
        world.ledger.accept = real  # type: ignore[method-assign]  # for a while
        assert invoke("documents", event("documents/put-idempotent"))[0] == 201

    def test_a_call_in_progress_is_409_until_its_lease_is_over(
        self, invoke: Any, world: World
    ) -> None:
        """The first attempt never comes back, as if its process were killed."""

        class Killed(BaseException):
            pass

        def killed(*args: object, **kwargs: object) -> NoReturn:
            raise Killed

        real = world.ledger.accept
        world.ledger.accept = killed  # type: ignore[method-assign]  # for a while
        with pytest.raises(Killed):
            invoke("documents", event("documents/put-idempotent"))
        world.ledger.accept = real  # type: ignore[method-assign]  # for a while
        status, body = invoke("documents", event("documents/put-idempotent"))
        assert (status, body.get("code")) == (409, "idempotency-in-progress")
        _end_leases()
        assert invoke("documents", event("documents/put-idempotent"))[0] == 201


def _raises(*args: object, **kwargs: object) -> NoReturn:
    raise Unavailable("The ledger is away.", code="ledger-unavailable")


def _end_leases() -> None:
    """As time would: every lease that is running ended a second ago."""
    client = boto3.client("dynamodb", region_name="us-east-1")
    for item in client.scan(TableName="idempotency")["Items"]:
        client.update_item(
            TableName="idempotency",
            Key={"id": item["id"]},
            UpdateExpression="SET in_progress_expiration = :past",
            ExpressionAttributeValues={":past": {"N": "1000"}},
        )
