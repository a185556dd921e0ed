"""The default gate on a small real corpus, with real vectors and the embedded index.

It was set by hand on these and similar sentences; what it does on labelled data that it has not seen
is a matter for the benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.adapters.onnx_embedder import OnnxEmbedder
from custody.adapters.sqlite_index import SqliteIndex
from custody.application.reading.answer import AnswerRequest
from custody.application.reading.search import SearchRequest
from custody.domain.ranking.sufficiency import Verdict
from custody.domain.text.embedding_model import EmbeddingModel
from tests.support.search_world import World, reader

CORPUS = {
    "leave": "Employees receive sixteen weeks of paid parental leave after a birth or adoption.",
    "travel": "Travel expenses are reimbursed within thirty days when receipts are attached.",
    "remote": "Staff may work from home up to three days a week if their manager agrees.",
    "laptop": "Report a lost laptop to the security desk within one hour so it can be wiped.",
    "vacation": "Full-time employees accrue twenty-five vacation days; five can be carried over.",
    "training": "Each employee has a yearly training budget of 1,200 euros for courses.",
    "password": "Passwords expire after ninety days and have at least twelve characters.",
    "parking": "Parking permits are renewed each January at the reception.",
    "sick": "A doctor's note is required from the third day of sick leave.",
    "bm25": "BM25 is a ranking function that scores documents by the query terms they hold.",
    "speaker": "The speaker in the meeting room can play music; press the blue button to pair it.",
}
ANSWERABLE = (
    "How many weeks of parental leave do employees get?",
    "How fast are travel expenses reimbursed?",
    "Can I work from home?",
    "What do I do when I lose my laptop?",
    "How many vacation days can be carried over?",
    "What is the training budget?",
    "When do passwords expire?",
    "Where can I renew a parking permit?",
    "When do I need a doctor's note?",
    "What is BM25?",
    "How do I pair the speaker in the meeting room?",
)
OFF_CORPUS = (
    "What is music?",
    "Which team won the football world cup in 1998?",
    "Who wrote Hamlet?",
    "How tall is Mount Everest?",
    "What is the capital of Australia?",
    "Why is the sky blue?",
    "How does photosynthesis work?",
    "What causes earthquakes?",
    "who are they?",
    "How do I bake sourdough bread?",
    "When did the Roman empire fall?",
)


@pytest.fixture(scope="module")
def embedder(minilm: EmbeddingModel) -> OnnxEmbedder:
    return OnnxEmbedder(minilm)


@pytest.fixture(scope="module")
def world(embedder: OnnxEmbedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    path: Path = tmp_path_factory.mktemp("index") / "index.db"
    index = SqliteIndex(str(path))
    made = World(real_index=index, real_embedder=embedder)
    for document_id, text in CORPUS.items():
        made.publish(document_id, text)
    yield made
    index.close()


@pytest.mark.parametrize("question", ANSWERABLE)
def test_what_the_corpus_says_is_answerable(world: World, question: str) -> None:
    answer = world.answers(reader(), AnswerRequest(SearchRequest(question)))
    assert answer.verdict is Verdict.ANSWERABLE, answer.judgement.explanation


@pytest.mark.parametrize("question", OFF_CORPUS)
def test_what_it_does_not_speak_of_is_not_even_with_two_rewrites(
    world: World, question: str
) -> None:
    answer = world.answers(reader(), AnswerRequest(SearchRequest(question)))
    assert answer.verdict is Verdict.INSUFFICIENT, answer.judgement.explanation
