"""The whole ingestion on memory adapters: real use cases, real rules, real signatures.

``Crash`` is raised between any two calls of a port when the world is told to, as if the process
were killed there. Jobs and events that were not finished are delivered again, as queues do.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.application.failure import Failure
from custody.application.governance.source_registry import SourceRequest
from custody.application.idempotency import Idempotency
from custody.application.indexing.pace import BuildPace
from custody.application.ingestion.accept_document import DocumentRequest
from custody.application.ingestion.accept_drop import DropEvent, DropOutcome
from custody.application.ports import (
    Authorizer,
    Block,
    Chunker,
    Embedder,
    EvidenceIndex,
    Ledger,
    Matrix,
    ObjectStore,
    ParsedDocument,
    Parser,
    RebuildableIndex,
)
from custody.application.reading.evidence_check import EvidenceCheck
from custody.bootstrap import Service
from custody.domain.index.candidates import Vector
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
)
from custody.domain.model import Chunk, Outcome, Principal, Scope, SourceKey
from custody.errors import Rejected
from custody_memory.builds import MemoryBuilds
from custody_memory.jobs import MemoryJobs
from custody_memory.ledger import MemoryLedger
from custody_memory.objects import MemoryObjects
from custody_memory.ports import FixedLimits, MemoryPorts
from custody_memory.signer import LocalSigner
from tests.support.interposed import interposed
from tests.support.memory_index import MemoryIndex

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TENANT = "acme"
ALL = frozenset(scope.value for scope in Scope)
KINDS = (ParseJob, EmbedJob, PublishJob, RejectJob, EraseJob, CleanupJob, RebuildJob, IndexJob)


def principal(
    subject: str, *groups: str, tenant: str = TENANT, scopes: frozenset[str] = ALL
) -> Principal:
    return Principal(subject, tenant, frozenset(groups), scopes, issued_at=START)


GOVERNOR = principal("gov")
WRITER = principal("ci", scopes=frozenset({Scope.READ, Scope.WRITE, Scope.ERASE}))
READER = principal("ann", "staff", scopes=frozenset({Scope.READ}))
STRANGER = principal("eve", scopes=frozenset({Scope.READ, Scope.WRITE, Scope.ERASE}))


class FakeClock:
    """Moves on by ``step`` with each look, and by what is slept."""

    def __init__(self, step: timedelta = timedelta(milliseconds=1)) -> None:
        self.time, self.step = START, step

    def now(self) -> datetime:
        self.time += self.step
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class CountingIdentifiers:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self, prefix: str) -> str:
        return f"{prefix}-{next(self._numbers):026d}"


class WordEmbedder:
    """A vector from the text's digest: equal texts, equal vectors."""

    dimensions = 8

    def __init__(self, revision: str = "words-1") -> None:
        self.revision = revision

    def embed_query(self, text: str) -> Vector:
        return np.asarray(self.embed_passages([text])[0], dtype=np.float32)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        rows = [
            np.frombuffer(hashlib.sha256(text.encode()).digest()[:8], np.uint8) for text in texts
        ]
        matrix = np.array(rows, dtype=np.float32) + 1.0
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        return matrix


class LineParser:
    """Each line is a block; ``!reject <code>`` is refused with that code."""

    def parse(self, content: bytes, *, content_type: str, name: str) -> ParsedDocument:
        text = content.decode("utf-8")
        if text.startswith("!reject "):
            raise Rejected("The parser refuses it.", code=text.split()[1])
        blocks = tuple(Block(line) for line in text.splitlines() if line.strip())
        return ParsedDocument(blocks, title=None, media_type=content_type, parser="lines 1")


class BlockChunker:
    version = "blocks 1"

    def chunk(
        self, parsed: ParsedDocument, *, document_id: str, version: int, title: str | None
    ) -> tuple[Chunk, ...]:
        return tuple(
            Chunk(document_id, version, ordinal, title, block.heading, block.page, block.text)
            for ordinal, block in enumerate(parsed.blocks)
        )


class Crash(Exception):
    """The process was killed."""


class Killer:
    """Kills at the ``at``-th port call (1 is the first), before or after it takes effect."""

    def __init__(self) -> None:
        self.calls = 0
        self.at: int | None = None
        self.after = False

    def around[P](self, port: P) -> P:
        return interposed(port, self._call)

    def _call(self, name: str, call: Callable[[], object]) -> object:
        self.calls += 1
        due = self.at is not None and self.calls == self.at
        if due and not self.after:
            self.at = None
            raise Crash(f"before {name}")
        result = call()
        if due:
            self.at = None
            raise Crash(f"after {name}")
        return result


@dataclass(frozen=True, slots=True)
class Served:
    """One chunk that a reader is served, with the statement's verdict checked."""

    document_id: str
    version: int
    ordinal: int
    text: str


@cache
def _signer() -> LocalSigner:
    return LocalSigner.generate("ingestion", not_before=START - timedelta(days=1))


@cache
def _policy_signer() -> LocalSigner:
    return LocalSigner.generate("policy", not_before=START - timedelta(days=1))


@cache
def _index_signer() -> LocalSigner:
    return LocalSigner.generate("index", not_before=START - timedelta(days=1))


@cache
def _check() -> EvidenceCheck:
    return EvidenceCheck(EcdsaVerifier())


class WorldOn[L: Ledger, O: ObjectStore, I: EvidenceIndex]:
    """On this ledger, object store and index. ``parser``, ``chunker``, ``embedder``: the real ones,
    where a test wants them."""

    def __init__(
        self,
        ledger: L,
        objects: O,
        index: I,
        *,
        wait_seconds: float = 15.0,
        clock: FakeClock | None = None,
        parser: Parser | None = None,
        chunker: Chunker | None = None,
        embedder: Embedder | None = None,
        rebuildable: RebuildableIndex | None = None,
        idempotency: Idempotency | None = None,
        authorizer: Authorizer | None = None,
    ) -> None:
        self._idempotency, self._authorizer = idempotency, authorizer
        self._rebuildable = rebuildable
        self.other_embedder: Embedder | None = None
        self.build_pace = BuildPace()
        self._wait_seconds = wait_seconds
        self._parser: Parser = parser or LineParser()
        self._chunker: Chunker = chunker or BlockChunker()
        self.clock = clock or FakeClock()
        self.killer = Killer()
        self.ledger, self.objects, self.index = ledger, objects, index
        self.queue = MemoryJobs()
        self.builds = MemoryBuilds()
        self.embedder: Embedder = embedder or WordEmbedder()
        self.signer, self.policy_signer = _signer(), _policy_signer()
        self.check = _check()
        self.ledger.put_key(self.signer.verification_key())
        self.ledger.put_key(self.policy_signer.verification_key())
        self.ledger.make_page_secret()
        self._sequence = itertools.count(1)
        self.identifiers = CountingIdentifiers()
        self._build()

    def _build(self) -> None:
        around = self.killer.around
        self.ports = MemoryPorts(
            index=around(self.index),
            embedder=self.embedder,
            parser=self._parser,
            chunker=self._chunker,
            signers={
                "ingestion": around(self.signer),
                "policy": self.policy_signer,
                "index": around(_index_signer()),
            },
            clock=self.clock,
            identifiers=self.identifiers,
            ledger=around(self.ledger),
            builds=around(self.builds),
            queue=around(self.queue),
            given_objects=around(self.objects),
            given_rebuildable=around(self._rebuildable) if self._rebuildable else None,
            other_embedder=self.other_embedder,
            given_idempotency=self._idempotency,
            given_authorizer=self._authorizer,
            pause=self._sleep,
        )
        self.service = service = Service(
            self.ports,
            FixedLimits(publish_wait_seconds=self._wait_seconds, build_pace=self.build_pace),
        )
        self.sources, self.accept = service.sources, service.accept
        self.accept_drop, self.uploads = service.accept_drop, service.uploads
        self.post_document, self.documents = service.post_document, service.documents
        self.change_acl, self.erasures = service.change_acl, service.erasures
        self.parse, self.embed = service.parse, service.embed
        self.publish, self.clean_up_superseded = service.publish, service.clean_up_superseded
        self.close_rejected = service.close_rejected
        self.propagate_erasure = service.propagate_erasure
        self.while_waiting: Callable[[], object] = self.work

    def use_model(self, revision: str) -> None:
        self.embedder = WordEmbedder(revision)
        self._build()

    def remember_answers_in(self, idempotency: Idempotency) -> None:
        self._idempotency = idempotency
        self._build()

    def _sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.while_waiting()

    # --- doing things ---

    def source(self, source_id: str = "wiki", **changes: Any) -> None:
        request = SourceRequest(
            source_id=source_id,
            trust_domain="internal",
            writers=("user:ci",),
            default_acl=("group:staff",),
        )
        self.sources.put(GOVERNOR, replace(request, **changes))

    def drop(self, name: str, body: bytes, **kinds: Any) -> DropEvent:
        """Put an object under ``incoming/``; returns the event that tells of it."""
        key = f"incoming/{TENANT}/{kinds.get('source_id', 'wiki')}/{name}"
        self.objects.put(key, body, content_type=kinds.get("content_type", "binary/octet-stream"))
        return DropEvent(key, self._next())

    def _next(self) -> str:
        return f"{next(self._sequence):016X}"

    def handle(self, job: Job) -> None:
        """What the function of this job's queue does with it."""
        failures: Sequence[Failure[PublishJob] | Failure[RejectJob] | Failure[EmbedJob]] = ()
        if isinstance(job, PublishJob):
            failures = self.publish([job])
        elif isinstance(job, RejectJob):
            failures = self.close_rejected([job])
        elif isinstance(job, EmbedJob):
            failures = self.embed([job])
        elif isinstance(job, ParseJob):
            self.parse(job)
        elif isinstance(job, EraseJob):
            self.propagate_erasure(job)
        elif isinstance(job, CleanupJob):
            self.clean_up_superseded(job)
        elif isinstance(job, RebuildJob):
            self.service.rebuild(job)
        else:
            self.service.index_elsewhere(job)
        for failure in failures:
            raise failure.error

    def work(self) -> None:
        """Drain the queues in order."""
        self.queue.drain(dict.fromkeys(KINDS, self.handle))

    def deliver(self, *events: DropEvent) -> list[DropOutcome]:
        outcomes = []
        for event in events:
            outcomes.append(self.accept_drop(event))
            self.work()
        return outcomes

    # --- looking ---

    def served(self: WorldOn[L, O, MemoryIndex], reader: Principal = READER) -> set[Served]:
        """What this reader would be served: proposed by the index, decided by the ledger."""
        entries = [e for e in self.index.visible() if not reader.terms.isdisjoint(e.acl)]
        view = self.ledger.view(
            reader.tenant,
            reader.subject,
            {entry.key for entry in entries},
            {SourceKey(entry.key.tenant, entry.source_id) for entry in entries},
        )
        findings = self.check(entries, view, reader, now=self.clock.now())
        for finding in findings:
            assert finding.outcome not in (Outcome.TAMPERED, Outcome.UNVERIFIED), finding
        return {
            Served(e.key.document_id, e.version, e.ordinal, e.text)
            for e, finding in zip(entries, findings, strict=True)
            if finding.outcome is Outcome.VERIFIED
        }

    def texts(self: WorldOn[L, O, MemoryIndex], reader: Principal = READER) -> set[str]:
        return {served.text for served in self.served(reader)}


class World(WorldOn[MemoryLedger, MemoryObjects, MemoryIndex]):
    """All of it in memory."""

    def __init__(
        self,
        *,
        wait_seconds: float = 15.0,
        clock: FakeClock | None = None,
        authorizer: Authorizer | None = None,
    ) -> None:
        clock = clock or FakeClock()
        super().__init__(
            MemoryLedger(),
            MemoryObjects(clock),
            MemoryIndex(),
            wait_seconds=wait_seconds,
            clock=clock,
            authorizer=authorizer,
        )

    def undrop(self, name: str) -> DropEvent:
        key = f"incoming/{TENANT}/wiki/{name}"
        self.objects.mark_deleted(key)
        return DropEvent(key, self._next())


def request(
    document_id: str = "guide", text: str = "alpha\nbeta", **changes: Any
) -> DocumentRequest:
    return replace(DocumentRequest(document_id, "wiki", text.encode(), "text/plain"), **changes)


def lines(count: int, word: str = "line") -> str:
    return "\n".join(f"{word} {number}" for number in range(count))
