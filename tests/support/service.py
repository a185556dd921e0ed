"""The deployed local service as its users meet it: clients with real tokens, drops, queues, keys.

Everything is polled against generous deadlines: a cold worker may take many seconds.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from custody_client import Client, CustodyApiError, CustodyUnreachableError
from custody_client.types import Drop, Evidence, SearchResult
from custody_local import clients
from custody_local import state as states
from custody_local.stack import Stack
from custody_local.state import State

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PATIENCE = 240.0  # seconds, for whatever is waited for
CALL_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class Person:
    """A principal with what the token says of it. ``scopes`` without their ``custody/``."""

    tenant: str
    subject: str
    groups: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ("read",)


def new_tenant(purpose: str) -> str:
    """A tenant that no other run has used."""
    return f"{purpose}-{uuid.uuid4().hex[:8]}"


def until[T](what: str, look: Callable[[], T | None], *, seconds: float = PATIENCE) -> T:
    """The first look that is neither None nor False. Fails, naming ``what``, after ``seconds``."""
    deadline = time.monotonic() + seconds
    pause = 0.2
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(pause)
        pause = min(pause * 1.3, 2.0)


def refusal(call: Callable[[], object]) -> tuple[int, str]:
    """Status and code of the refusal that ``call`` meets."""
    try:
        found = call()
    except CustodyApiError as error:
        return error.status, error.code
    raise AssertionError(f"not refused: {found}")


def texts(found: SearchResult) -> str:
    return "\n".join(item["text"] for item in found["results"])


def of(found: SearchResult, document_id: str) -> list[Evidence]:
    return [item for item in found["results"] if item["document_id"] == document_id]


@dataclass
class Service:
    """One deployed stack. ``close`` ends the clients, not the stack."""

    stack: Stack
    _clients: dict[Person, Client] = field(default_factory=dict)
    _http: httpx2.Client | None = None

    @property
    def state(self) -> State:
        state = states.load(self.stack.folder)
        assert state is not None
        return state

    def aws(self, name: str) -> Any:
        return clients.session(self.state.endpoint_url).client(name)

    @property
    def s3(self) -> S3Client:
        client: S3Client = self.aws("s3")
        return client

    def token(self, person: Person, **claims: Any) -> str:
        return self.stack.issuer().mint(
            tenant=claims.pop("tenant", person.tenant),
            subject=person.subject,
            groups=claims.pop("groups", person.groups),
            scopes=[f"custody/{scope}" for scope in person.scopes],
            **claims,
        )

    def client(self, person: Person) -> Client:
        known = self._clients.get(person)
        if known is None:
            known = self._clients[person] = Client(
                self.state.api_url, self.token(person), timeout=CALL_TIMEOUT
            )
        return known

    def hurried(self, person: Person) -> Client:
        """A client that takes the first answer, whatever it is. The caller closes it."""
        return Client(self.state.api_url, self.token(person), timeout=CALL_TIMEOUT, attempts=1)

    def send(
        self,
        method: str,
        path: str,
        *,
        person: Person | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """One request as it stands, for what a client would never send."""
        if self._http is None:
            self._http = httpx2.Client(timeout=CALL_TIMEOUT)
        sent = dict(headers or {})
        if person is not None:
            sent.setdefault("authorization", f"Bearer {self.token(person)}")
        return self._http.request(method, self.state.api_url + path, content=content, headers=sent)

    def put_url(self, url: str, content: bytes, headers: Mapping[str, str]) -> httpx2.Response:
        """A PUT to an address outside the API, without a token."""
        with httpx2.Client(timeout=CALL_TIMEOUT) as client:
            return client.put(url, content=content, headers=dict(headers))

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        if self._http is not None:
            self._http.close()

    # --- sources and drops ----------------------------------------------------------------------

    def source(self, tenant: str, source_id: str, **fields: Any) -> None:
        """Registered by a governor; published by the group publishers; read by all of the
        tenant."""
        governor = Person(tenant, "governor", scopes=("read", "govern"))
        fields.setdefault("trust_domain", "official")
        fields.setdefault("writers", ["group:publishers"])
        fields.setdefault("default_acl", [f"tenant:{tenant}"])
        self.client(governor).put_source(source_id, **fields)

    def put_object(
        self, key: str, content: bytes, content_type: str = "application/octet-stream"
    ) -> str:
        """Its version id."""
        reply = self.s3.put_object(
            Bucket=self.state.bucket, Key=key, Body=content, ContentType=content_type
        )
        return reply["VersionId"]

    def drop(
        self,
        tenant: str,
        source_id: str,
        path: str,
        content: bytes,
        content_type: str = "application/octet-stream",
    ) -> str:
        return self.put_object(f"incoming/{tenant}/{source_id}/{path}", content, content_type)

    def dropped(
        self, client: Client, source_id: str, path: str, version: str | None = None
    ) -> Drop:
        """What became of a drop, once that is settled."""
        return client.wait_for_drop(path, source_id, object_version=version, timeout=PATIENCE)

    def keys(self, prefix: str) -> list[str]:
        """Every version and delete marker under the prefix, as ``<key>@<version>``."""
        found: list[str] = []
        for page in self.s3.get_paginator("list_object_versions").paginate(
            Bucket=self.state.bucket, Prefix=prefix
        ):
            rows = (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
            found.extend(f"{row['Key']}@{row['VersionId']}" for row in rows)
        return found

    def public_key(self) -> bytes:
        """DER of the ingestion key, as KMS tells it."""
        arn = self.state.outputs["IngestionKeyArn"]
        key: bytes = self.aws("kms").get_public_key(KeyId=arn)["PublicKey"]
        return key

    def queue(self, logical_id: str) -> str:
        """URL of one of the template's queues."""
        found = self.aws("cloudformation").describe_stack_resource(
            StackName=self.state.stack_name, LogicalResourceId=logical_id
        )
        url: str = found["StackResourceDetail"]["PhysicalResourceId"]
        return url

    # --- warming up -----------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Every function has run once: what follows meets no cold start by surprise."""
        tenant = new_tenant("warm")
        scopes = ("read", "write", "erase", "govern")
        everything = self.client(Person(tenant, "warmer", ("publishers",), scopes))
        self._patiently(everything.health)
        self._patiently(lambda: self.source(tenant, "warm"))
        self._patiently(lambda: everything.search("warm up"))
        self._patiently(lambda: everything.answer("warm up"))
        self.drop(tenant, "warm", "a.txt", b"A first file that is dropped.", "text/plain")
        self._patiently(
            lambda: everything.put_document("a", "warm", "A first document.", "text/plain")
        )
        everything.wait_for_document("a", timeout=PATIENCE)
        erased = everything.delete_document("a", "it has served")
        self.dropped(everything, "warm", "a.txt")
        everything.wait_for_erasure(erased["erasure_id"], timeout=PATIENCE)

    @staticmethod
    def _patiently(call: Callable[[], object]) -> None:
        def attempt() -> bool:
            with suppress(CustodyUnreachableError):
                try:
                    call()
                    return True
                except CustodyApiError as error:
                    if error.status < 500:
                        raise
            return False

        until("a first answer of a cold function", attempt)
