"""The ingestion's world on a real index, which is built anew while it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from custody.adapters.sqlite_index import SqliteIndex
from custody.domain.index.builds import IndexBuild
from custody.domain.index.candidates import IndexEntry, SearchFilter, Space
from custody.domain.jobs import Job, RebuildJob
from custody.domain.model import BuildKey, DocumentKey, Leg, Outcome, Principal, SourceKey
from custody_memory.ledger import MemoryLedger
from custody_memory.objects import MemoryObjects
from tests.support.evidence import query, wanted
from tests.support.ingest_world import (
    GOVERNOR,
    READER,
    TENANT,
    WRITER,
    FakeClock,
    Killer,
    WordEmbedder,
    WorldOn,
    request,
)

ACME = Space(TENANT)
PAST = Space(TENANT, history=True)


class Interrupter(Killer):
    """Does ``act`` before the ``moment``-th port call (1 is the first) of what is watched, and
    ``check`` before each one that follows; what they call themselves is not counted."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = 0
        self.act: Callable[[], object] | None = None
        self.check: Callable[[], object] | None = None
        self.watched = 0
        self._watching = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        self._watching = True
        try:
            yield
        finally:
            self._watching = False

    def _call(self, name: str, call: Callable[[], object]) -> object:
        if self._watching:
            self.watched += 1
            due = self.act if self.watched == self.moment else None
            if self.moment and self.watched > self.moment:
                due = self.check
            if due is not None:
                self._watching = False
                due()
                self._watching = True
        return super()._call(name, call)


class RebuildWorld(WorldOn[MemoryLedger, MemoryObjects, SqliteIndex]):
    def __init__(self, index: SqliteIndex) -> None:
        clock = FakeClock()
        super().__init__(
            MemoryLedger(), MemoryObjects(clock), index, clock=clock, rebuildable=index
        )
        self.killer = self.interrupter = Interrupter()
        self._build()

    def use_pace(self, **changes: Any) -> None:
        self.build_pace = replace(self.build_pace, **changes)
        self._build()

    def use_other_model(self, revision: str) -> None:
        self.other_embedder = WordEmbedder(revision)
        self._build()

    def run(self, key: BuildKey) -> None:
        """One delivery of the build's job."""
        with self.interrupter.watching():
            self.service.rebuild(RebuildJob(key))

    def handle(self, job: Job) -> None:
        if isinstance(job, RebuildJob):
            self.run(job.key)
        else:
            super().handle(job)

    def publish_document(self, document_id: str, text: str = "alpha\nbeta") -> DocumentKey:
        self.post_document(WRITER, request(document_id, text))
        return DocumentKey(TENANT, document_id)

    def begin(self, model: str = "own") -> BuildKey:
        """The build of the live index; the history's is asked for with it."""
        live, history = self.service.indices.rebuild(GOVERNOR, model=model)
        assert (live.space, history.space) == (ACME, PAST)
        return live.key

    def build(self, key: BuildKey) -> IndexBuild:
        found = self.builds.build(key)
        assert found is not None
        return found

    def told(self) -> Sequence[IndexBuild]:
        return self.service.indices.show(GOVERNOR)

    def later(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.queue.release()

    def served_name(self) -> str:
        (name,) = {each.name for each in self.index.generations(ACME) if each.served}
        return name

    def wanted(self) -> SearchFilter:
        return wanted(terms=READER.terms, valid_at=self.clock.now())

    def proposed(
        self,
        text: str,
        *,
        model: str | None = None,
        space: Space = ACME,
        only: SearchFilter | None = None,
    ) -> list[IndexEntry]:
        """What the index proposes to a reader: both legs, each chunk once in each."""
        embedder = self.embedder if model is None else self.other_embedder
        assert embedder is not None
        found = self.index.search(
            query(
                space,
                text=text,
                vector=embedder.embed_query(text),
                depth=1_000,
                only=only or self.wanted(),
                model_revision=embedder.revision,
            )
        )
        entries = [hit.entry for hit in found[Leg.SEMANTIC]]
        ids = [entry.chunk_id for entry in entries]
        assert len(ids) == len(set(ids))
        assert {hit.entry.chunk_id for hit in found[Leg.LEXICAL]} <= set(ids)
        return entries

    def live(self, reader: Principal = READER, *, model: str | None = None) -> set[tuple[str, int]]:
        """Documents and versions that a search serves: proposed, then decided by the ledger."""
        only = replace(self.wanted(), acl_terms=reader.terms)
        entries = self.proposed("alpha", model=model, only=only)
        view = self.ledger.view(
            reader.tenant,
            reader.subject,
            {entry.key for entry in entries},
            {SourceKey(entry.key.tenant, entry.source_id) for entry in entries},
        )
        findings = self.check(entries, view, reader, now=self.clock.now())
        return {
            (entry.key.document_id, entry.version)
            for entry, finding in zip(entries, findings, strict=True)
            if finding.outcome is Outcome.VERIFIED
        }
