"""An answer that was given, with its chunks in the object store as publication leaves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from custody.application.ports import ObjectStore
from custody.application.reading.answer import AnswerRequest
from custody.application.reading.read_trace import StoredAnswer
from custody.application.reading.search import SearchRequest
from custody.application.reading.trace import Trace
from custody.application.reading.trace_codec import encode
from custody.domain.model import Chunk, Head, Principal
from custody.domain.storage import chunk_lines, object_keys
from tests.support.records import draft
from tests.support.search_world import World, reader
from tests.support.signed_evidence import NOW

QUESTION = "How many weeks of parental leave do employees get?"
LEAVE = "Employees get sixteen weeks of parental leave."


class Stored:
    """``documents``: each an id with the texts of its chunks."""

    def __init__(
        self,
        *documents: tuple[str, ...],
        question: str = QUESTION,
        objects: ObjectStore | None = None,
    ) -> None:
        self.world = World(objects=objects)
        self.objects = self.world.objects
        self.read = self.world.service.stored_answers
        published = documents or (("leave", LEAVE, "A second part about notice periods."),)
        self.heads = {name: self.publish(name, *texts) for name, *texts in published}
        self.head = next(iter(self.heads.values()))
        self.answer = self.world.answers(reader(), AnswerRequest(SearchRequest(question)))

    def publish(self, document_id: str, *texts: str, version: int = 1) -> Head:
        head = self.world.publish(document_id, *texts, version=version)
        chunks = [
            Chunk(document_id, version, ordinal, "A title", "Heading", 1, text)
            for ordinal, text in enumerate(texts)
        ]
        self.store(head, chunks)
        return head

    def store(self, head: Head, chunks: list[Chunk]) -> None:
        ref = self.objects.put(
            object_keys.chunks(head.key, head.version),
            chunk_lines.encode(chunks),
            content_type=chunk_lines.CONTENT_TYPE,
        )
        self.world.ledger.keep(
            replace(draft(head.key), version=head.version, chunks=ref, chunk_count=len(chunks))
        )

    def again(self, who: Principal | None = None) -> StoredAnswer:
        return self.read(who or reader(), self.answer.answer_id)

    def kept(self) -> tuple[str, Mapping[str, object]]:
        found = self.world.traces.get("acme", self.answer.answer_id)
        assert found is not None
        return found

    def keep(self, trace: Trace | Mapping[str, object]) -> None:
        """In place of the trace that the answer left."""
        stored = trace if isinstance(trace, Mapping) else encode(trace)
        subject, _ = self.kept()
        self.world.traces.put(
            "acme", self.answer.answer_id, subject, stored, expires_at=NOW + timedelta(days=30)
        )
