"""An answer that was given, with its chunks in the object store as publication leaves them."""

from __future__ import annotations

from dataclasses import replace

from custody.application.reading.answer import AnswerRequest
from custody.application.reading.read_trace import StoredAnswer
from custody.application.reading.search import SearchRequest
from custody.domain.model import Chunk, Head, Principal
from custody.domain.storage import chunk_lines, object_keys
from tests.support.records import draft
from tests.support.search_world import World, reader

QUESTION = "How many weeks of parental leave do employees get?"
LEAVE = "Employees get sixteen weeks of parental leave."


class Stored:
    def __init__(self) -> None:
        self.world = World()
        self.objects = self.world.objects
        self.records = self.world.ledger.records
        self.read = self.world.service.stored_answers
        self.head = self.publish("leave", LEAVE, "A second part about notice periods.")
        self.answer = self.world.answers(reader(), AnswerRequest(SearchRequest(QUESTION)))

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
        self.records[head.key, head.version] = replace(
            draft(head.key), version=head.version, chunks=ref, chunk_count=len(chunks)
        )

    def again(self, who: Principal | None = None) -> StoredAnswer:
        return self.read(who or reader(), self.answer.answer_id)
