"""Presigned uploads into ``incoming/``, and what became of a drop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from custody.application.callers import oversees, require, view_for
from custody.application.ports import DropListing, LedgerReads, ObjectStore, Upload
from custody.domain.intake import sidecar, validation
from custody.domain.ledger import sources
from custody.domain.ledger.drops import Drop
from custody.domain.model import Principal, Scope, SourceKey
from custody.domain.provenance.identifiers import drop_document_id
from custody.domain.storage import object_keys
from custody.domain.text import media
from custody.errors import NotFound, Rejected, TooLarge, Unprocessable, UnsupportedMedia


@dataclass(frozen=True, slots=True)
class UploadRequest:
    """``size`` in bytes: exactly what will be sent."""

    source_id: str
    name: str
    content_type: str
    size: int


@dataclass(frozen=True, slots=True)
class UploadTicket:
    upload: Upload
    name: str
    document_id: str


class UploadsLedger(LedgerReads, DropListing, Protocol):
    """What uploads ask of the ledger."""


@dataclass(frozen=True, slots=True)
class Uploads:
    ledger: UploadsLedger
    objects: ObjectStore
    max_object_bytes: int = 50_000_000
    valid_seconds: int = 900

    def create(self, principal: Principal, request: UploadRequest) -> UploadTicket:
        """Writes nothing: the drop begins when the bytes arrive."""
        require(principal, Scope.WRITE)
        owner = SourceKey(principal.tenant, validation.source_id(request.source_id))
        document = request.name.removesuffix(sidecar.SUFFIX)
        if not validation.is_path(document) or document.endswith(sidecar.SUFFIX):
            raise Unprocessable(
                "A name is a path without empty and dot segments and control characters, and a "
                "sidecar has no sidecar.",
                code="invalid-path",
                field="name",
            )
        source = view_for(self.ledger, principal, (), (owner,)).sources.get(owner)
        if source is None:
            raise NotFound("There is no such source.", code="source-not-found", field="source_id")
        sources.check_writer(principal, source)
        sources.check_active(source)
        if request.size < 1:
            raise Unprocessable("An upload has at least one byte.", field="bytes")
        if request.size > self.max_object_bytes:
            raise TooLarge(
                f"An object has at most {self.max_object_bytes:,} bytes.",
                code="object-too-large",
                field="bytes",
            )
        content_type = validation.content_type(request.content_type)
        if request.name.endswith(sidecar.SUFFIX):
            if content_type != media.JSON:
                raise UnsupportedMedia("A sidecar is application/json.", field="content_type")
        else:
            _check_supported(content_type, request.name)
        upload = self.objects.presign_put(
            object_keys.incoming(owner, request.name),
            content_type=content_type,
            size=request.size,
            seconds=self.valid_seconds,
        )
        return UploadTicket(upload, request.name, drop_document_id(request.source_id, document))

    def drops(self, principal: Principal, name: str) -> Sequence[Drop]:
        """Every source's drop of that name that the caller writes or oversees; anyone may ask."""
        view_for(self.ledger, principal)
        found = self.ledger.find_drops(principal.tenant, name.removesuffix(sidecar.SUFFIX))
        if oversees(principal) or not found:
            return found
        read = view_for(self.ledger, principal, (), tuple(drop.source for drop in found))
        return [
            drop
            for drop in found
            if (source := read.sources.get(drop.source)) is not None
            and sources.is_writer(principal, source)
        ]


def _check_supported(content_type: str, name: str) -> None:
    """Only the declaration can be judged yet."""
    try:
        media.declared(content_type, name)
    except Rejected as error:
        raise UnsupportedMedia(error.detail, code=error.code, field="content_type") from None
