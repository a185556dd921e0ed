"""The synchronous client: one method for each call of the contract."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack, cast

from custody_client import fields
from custody_client import types as t
from custody_client.errors import CustodyApiError
from custody_client.fields import segment
from custody_client.governing import Governing
from custody_client.transport import Token, Transport
from custody_client.waiting import Waiter

if TYPE_CHECKING:
    import httpx2

DROP_ENDS = frozenset({"ACTIVE", "REJECTED", "REMOVED"})
DOCUMENT_ENDS = frozenset({"ACTIVE", "REJECTED", "ERASED"})
HEALTH_FAILURES = frozenset({503})


class Client(Governing):
    """Calls one deployment with one caller's token.

    ``base_url`` ends with the stage, for example ``https://…/v1``. ``token`` is a bearer token
    or a function that gives one (called for each request, so it may renew). ``timeout`` in
    seconds, for connecting and for each read; a document that is posted may take 15 s.
    ``attempts``: at most so many tries of a call that the service answered with 429 or 503.

    Every method raises CustodyApiError when the service refuses and CustodyUnreachableError when there
    is no answer. A state-changing call sends an Idempotency-Key of its own, the same over its
    retries; give ``idempotency_key`` to make your own repeats safe too.
    """

    def __init__(
        self,
        base_url: str,
        token: Token | None = None,
        *,
        timeout: float = 30.0,
        attempts: int = 5,
        transport: httpx2.BaseTransport | None = None,
        waiter: Waiter | None = None,
    ) -> None:
        super().__init__(
            Transport(base_url, token, timeout=timeout, attempts=attempts, transport=transport)
        )
        self._waiter = waiter or Waiter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    # --- documents ----------------------------------------------------------------------------

    def put_document(
        self,
        document_id: str,
        source_id: str,
        content: str | bytes,
        content_type: str,
        *,
        title: str | None = None,
        acl: Sequence[str] | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        observed_at: datetime | str | None = None,
        metadata: Mapping[str, t.MetadataValue] | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> t.PutDocumentResult:
        """Store one document (scope custody/write). ``bytes`` travel in base64.

        ``state`` of the reply: ACTIVE when published, PENDING when that takes longer than 15 s
        (see ``wait_for_document``).
        """
        body = fields.given(
            document_id=document_id,
            source_id=source_id,
            content=content if isinstance(content, str) else None,
            content_base64=base64.b64encode(content).decode()
            if isinstance(content, bytes)
            else None,
            content_type=content_type,
            title=title,
            acl=fields.acl(acl),
            valid_from=fields.time(valid_from),
            valid_to=fields.time(valid_to),
            observed_at=fields.time(observed_at),
            metadata=dict(metadata) if metadata is not None else None,
        )
        reply = self._change("POST", "/documents", body, idempotency_key, if_match)
        return cast("t.PutDocumentResult", reply)

    def get_document(self, document_id: str) -> t.Document:
        return cast("t.Document", self._transport.call("GET", f"/documents/{segment(document_id)}"))

    def list_documents(
        self,
        *,
        source_id: str | None = None,
        state: str | None = None,
        name: str | None = None,
        next: str | None = None,  # noqa: A002 - the contract's name
    ) -> t.DocumentPage:
        params = {"source_id": source_id, "state": state, "name": name, "next": next}
        return cast("t.DocumentPage", self._transport.call("GET", "/documents", params=params))

    def iter_documents(
        self, *, source_id: str | None = None, state: str | None = None
    ) -> Iterator[t.Document]:
        """Every document, page by page."""
        cursor: str | None = None
        while True:
            page = self.list_documents(source_id=source_id, state=state, next=cursor)
            yield from page["documents"]
            cursor = page.get("next")
            if not cursor:
                return

    def provenance(self, document_id: str, *, version: int | None = None) -> t.Provenance:
        """The signed statement (a DSSE envelope) of the live version, or of ``version``."""
        reply = self._transport.call(
            "GET", f"/documents/{segment(document_id)}/provenance", params={"version": version}
        )
        return cast("t.Provenance", reply)

    def access(self, document_id: str, *, at: str | None = None) -> t.PastAccess:
        """Who could have been shown the document at ``at`` (RFC 3339), or now. For auditors."""
        reply = self._transport.call(
            "GET", f"/documents/{segment(document_id)}/access", params={"at": at}
        )
        return cast("t.PastAccess", reply)

    def set_acl(
        self,
        document_id: str,
        allow: Sequence[str],
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> t.AclResult:
        reply = self._change(
            "PUT",
            f"/documents/{segment(document_id)}/acl",
            {"allow": list(allow)},
            idempotency_key,
            if_match,
        )
        return cast("t.AclResult", reply)

    def wait_for_document(
        self, document_id: str, *, version: int = 1, timeout: float = 120.0
    ) -> t.Document:
        """Wait until ``version`` or a later one is live, rejected or erased.

        Raises CustodyTimeoutError.
        """

        def settled(document: t.Document) -> bool:
            states = {one["version"]: one["state"] for one in document.get("versions", [])}
            states.setdefault(document["version"], document["state"])
            return any(
                number >= version and state in DOCUMENT_ENDS for number, state in states.items()
            )

        return self._waiter.until(
            lambda: self._or_none(lambda: self.get_document(document_id)),
            settled,
            seconds=timeout,
            what=f"document {document_id}",
        )

    # --- erasure ------------------------------------------------------------------------------

    def delete_document(
        self,
        document_id: str,
        reason: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> t.ErasureAccepted:
        """Hidden from the next read on; see ``wait_for_erasure`` for the copies."""
        reply = self._change(
            "DELETE",
            f"/documents/{segment(document_id)}",
            {"reason": reason},
            idempotency_key,
            if_match,
        )
        return cast("t.ErasureAccepted", reply)

    def erasure(self, erasure_id: str) -> t.Erasure:
        return cast("t.Erasure", self._transport.call("GET", f"/erasures/{segment(erasure_id)}"))

    def wait_for_erasure(self, erasure_id: str, *, timeout: float = 120.0) -> t.Erasure:
        """Wait for COMPLETE. Raises CustodyTimeoutError, with the last receipt in ``last``."""
        return self._waiter.until(
            lambda: self.erasure(erasure_id),
            lambda erasure: erasure["state"] == "COMPLETE",
            seconds=timeout,
            what=f"erasure {erasure_id}",
        )

    # --- uploads and drops --------------------------------------------------------------------

    def create_upload(
        self,
        source_id: str,
        name: str,
        content_type: str,
        size: int,
        *,
        idempotency_key: str | None = None,
    ) -> t.UploadTicket:
        """Ask for a presigned PUT of ``size`` bytes, for what is too big for a request body."""
        body = {"source_id": source_id, "name": name, "content_type": content_type, "bytes": size}
        return cast("t.UploadTicket", self._change("POST", "/uploads", body, idempotency_key))

    def upload_file(
        self,
        path: str | Path,
        source_id: str,
        *,
        name: str | None = None,
        content_type: str | None = None,
    ) -> t.UploadTicket:
        """Send one file through a presigned PUT; see ``wait_for_drop`` for what becomes of it.

        ``content_type`` is guessed from the file's name where it is left out.
        """
        path = Path(path)
        kind = content_type or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        with path.open("rb") as stream:
            size = path.stat().st_size
            ticket = self.create_upload(source_id, name or path.name, kind, size)
            self._transport.put_bytes(ticket["url"], stream, ticket.get("headers", {}))
        return ticket

    def drops(self, name: str) -> list[t.Drop]:
        """What became of the drops of that name, one a source."""
        reply = cast("t.DropList", self._transport.call("GET", "/drops", params={"name": name}))
        return reply["drops"]

    def find_drop(self, name: str, source_id: str) -> t.Drop | None:
        """The drop of that name and source; None when the service has not seen it yet."""
        found = self._or_none(lambda: self.drops(name)) or []
        return next((drop for drop in found if drop["source_id"] == source_id), None)

    def wait_for_drop(
        self,
        name: str,
        source_id: str,
        *,
        object_version: str | None = None,
        timeout: float = 120.0,
    ) -> t.Drop:
        """Wait until a drop is ACTIVE, REJECTED or REMOVED.

        ``object_version``: the version id that S3 gave to the object. With it, what became of an
        earlier upload of the same name doesn't count. Raises CustodyTimeoutError.
        """

        def settled(drop: t.Drop) -> bool:
            if drop["state"] not in DROP_ENDS:
                return False
            return object_version is None or drop.get("object_version") == object_version

        return self._waiter.until(
            lambda: self.find_drop(name, source_id),
            settled,
            seconds=timeout,
            what=f"drop {source_id}/{name}",
        )

    # --- search and answers -------------------------------------------------------------------

    def search(self, query: str, **fields: Unpack[t.SearchFields]) -> t.SearchResult:
        body = {"query": query, **fields}
        return cast("t.SearchResult", self._transport.call("POST", "/search", body=body))

    def answer(self, query: str, **fields: Unpack[t.AnswerFields]) -> t.Answer:
        """Ask the gate whether the evidence suffices. Each call leaves one trace."""
        body = {"query": query, **fields}
        return cast("t.Answer", self._transport.call("POST", "/answers", body=body))

    def get_answer(self, answer_id: str) -> t.StoredAnswer:
        """The stored trace, with the text of the evidence that may still be read."""
        reply = self._transport.call("GET", f"/answers/{segment(answer_id)}")
        return cast("t.StoredAnswer", reply)

    def health(self) -> t.Health:
        """Each dependency's state; no token is sent. An unhealthy service is no error here."""
        reply = self._transport.call(
            "GET", "/health", anonymous=True, accept_status=HEALTH_FAILURES
        )
        return cast("t.Health", reply)

    # --- helpers ------------------------------------------------------------------------------

    @staticmethod
    def _or_none[T](look: Callable[[], T]) -> T | None:
        """What was accepted a moment ago may not be there yet: 404 is "not yet" while waiting."""
        try:
            return look()
        except CustodyApiError as error:
            if error.status == 404:
                return None
            raise
