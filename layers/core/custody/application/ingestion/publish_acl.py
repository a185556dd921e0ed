"""Step two of an ACL change: sign it, let the index follow, then put it in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from custody.application.index_acl import follow_acl
from custody.application.ports import (
    AclPublication,
    Clock,
    HeadReads,
    Signer,
    SourceReads,
    VersionReads,
    WritableIndex,
)
from custody.application.races import again_when_moved
from custody.domain.index.candidates import Space
from custody.domain.ledger import transitions
from custody.domain.model import Acl, DocumentKey, Head, Source, SourceKey, VersionRecord
from custody.domain.provenance import statement
from custody.errors import IntegrityError


class PublishAclLedger(HeadReads, VersionReads, SourceReads, AclPublication, Protocol):
    """What publishing an ACL asks of the ledger."""


@dataclass(frozen=True, slots=True)
class PublishAcl:
    ledger: PublishAclLedger
    index: WritableIndex
    signer: Signer
    clock: Clock

    def __call__(self, key: DocumentKey) -> None:
        """Publishes the ACL that is wanted now, whichever request asked for it. The index widens
        before the ledger does, so a document that has become readable can be found at once."""
        again_when_moved(
            lambda: self._publish_wanted(key), lost="The ACL is being changed by others."
        )

    def _publish_wanted(self, key: DocumentKey) -> None:
        head = self.ledger.head(key)
        if head is None or head.version == 0:
            return
        if head.narrowed_to is None:
            # Another one was faster, and the index may show what an attempt of ours set after it.
            follow_acl(self.ledger, self.index, key, _spaces(key))
            return
        record = self.ledger.version(key, head.version)
        source = self.ledger.source(SourceKey(key.tenant, head.source_id))
        if record is None or source is None:
            raise IntegrityError(
                "The live version's record or source is missing.", code="source-missing"
            )
        self._publish(head, head.narrowed_to, record, source)

    def _publish(self, head: Head, acl: Acl, record: VersionRecord, source: Source) -> None:
        """Raises Moved when something else came first."""
        revision = head.acl_revision + 1
        payload = statement.build(
            record,
            source,
            chunk_root=head.chunk_root or "",
            chunk_count=head.chunk_count,
            acl=acl,
            acl_revision=revision,
            signed_at=self.clock.now(),
            supersedes=_supersedes(head),
        )
        envelope = self.signer.sign(statement.PAYLOAD_TYPE, payload)
        live, past = _spaces(head.key)
        self.index.set_acl(live, head.key, head.version, acl)
        self.index.set_acl(past, head.key, None, acl)
        self.index.refresh((live, past))
        after = self.ledger.flip_acl(
            head.key,
            version=head.version,
            acl_revision=revision,
            acl=acl,
            statement_id=statement.statement_id(payload),
            envelope=envelope,
            at=self.clock.now(),
        )
        if after is None:
            raise transitions.moved("document")


def _spaces(key: DocumentKey) -> tuple[Space, Space]:
    return Space.of(key), Space.history_of(key)


def _supersedes(head: Head) -> int | None:
    """As the statement that is in force says."""
    if head.envelope is None:
        raise IntegrityError("The live version has no statement.", code="statement-missing")
    return statement.parse(head.envelope.payload).supersedes
