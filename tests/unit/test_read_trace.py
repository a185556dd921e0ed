from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from custody.application.reading.read_trace import StoredAnswer
from custody.application.reading.search import SearchRequest
from custody.domain.model import Acl, Chunk, ObjectRef, Principal, VersionState
from custody.domain.ranking.sufficiency import Verdict
from custody.errors import IntegrityError, NotFound, Unauthenticated, Unavailable
from custody_memory.objects import MemoryObjects
from tests.support.search_world import FixedClock, reader
from tests.support.signed_evidence import NOW
from tests.support.stored_answer import LEAVE, QUESTION, Stored

AUDITOR = reader("eve", scopes=frozenset({"custody/read", "custody/audit"}))


@pytest.fixture
def stored() -> Stored:
    return Stored()


def texts(found: StoredAnswer) -> list[str | None]:
    return [item.verified.entry.text if item.verified else None for item in found.evidence]


def test_the_one_who_asked_reads_the_decision_and_the_text_again(stored: Stored) -> None:
    found = stored.again()
    assert found.subject == "ann"
    assert texts(found)[0] == LEAVE
    assert found.trace.gate.verdict is Verdict.ANSWERABLE


def test_an_auditor_of_the_tenant_reads_it_too(stored: Stored) -> None:
    assert texts(stored.again(AUDITOR))[0] == LEAVE


@pytest.mark.parametrize(
    "who",
    [
        reader("bob"),
        reader("ann", tenant="globex"),
        reader("eve", tenant="globex", scopes=frozenset({"custody/read", "custody/audit"})),
        reader("eve", scopes=frozenset({"custody/read", "custody/govern", "custody/override"})),
    ],
)
def test_for_anyone_else_there_is_no_such_answer(stored: Stored, who: Principal) -> None:
    with pytest.raises(NotFound) as caught:
        stored.again(who)
    assert caught.value.code == "not-found"


def test_unknown_and_expired_answers_and_searches_are_not_found(stored: Stored) -> None:
    with pytest.raises(NotFound):
        stored.read(reader(), "answer-unknown")
    searched = stored.world.search(reader(), SearchRequest(QUESTION))
    with pytest.raises(NotFound):
        stored.read(reader(), searched.trace_id)
    stored.world.clock.moment = NOW + timedelta(days=30)
    with pytest.raises(NotFound):
        stored.again()


@pytest.mark.parametrize(
    "change",
    [
        {"state": VersionState.ERASED, "erased_through": 1},
        {"narrowed_to": Acl.of("user:bob")},
        {"version": 2},
        {"envelope": None},
    ],
)
def test_what_may_no_longer_be_shown_is_not(stored: Stored, change: dict[str, Any]) -> None:
    stored.world.change_head(stored.head, **change)
    found = stored.again()
    assert set(texts(found)) == {None}
    assert all(item.withheld for item in found.evidence)


def test_a_newer_version_does_not_speak_for_the_one_that_was_shown(stored: Stored) -> None:
    stored.publish("leave", LEAVE, "Another second part.", version=2)
    assert {item.withheld for item in stored.again().evidence} == {"no-longer-live"}


@pytest.mark.parametrize("files_left", [False, True])
def test_a_version_that_has_expired_is_told_as_such(stored: Stored, files_left: bool) -> None:
    stored.publish("leave", LEAVE, "Another second part.", version=2)
    former = stored.world.ledger.version(stored.head.key, 1)
    assert former is not None
    stored.world.ledger.keep(
        replace(
            former,
            state=VersionState.SUPERSEDED,
            expired_at=NOW,
            chunks=former.chunks if files_left else None,
        )
    )
    found = stored.again(AUDITOR)
    assert {item.withheld for item in found.evidence} == {"version-expired"}
    assert set(texts(found)) == {None}
    assert found.trace.gate.verdict is Verdict.ANSWERABLE


def test_a_chunk_that_is_not_the_one_that_was_shown_is_not_shown_for_it(stored: Stored) -> None:
    trace = stored.world.trace(stored.answer.answer_id)
    first, *rest = trace.evidence
    other = replace(first, chunk=replace(first.chunk, sha256="0" * 64))
    stored.keep(replace(trace, evidence=(other, *rest)))
    found = stored.again()
    assert [item.withheld for item in found.evidence] == ["digest-changed", *(None for _ in rest)]
    assert texts(found)[0] is None


def test_an_auditor_sees_no_text_that_is_closed_to_them(stored: Stored) -> None:
    outsider = reader(
        "eve", groups=frozenset(), scopes=frozenset({"custody/read", "custody/audit"})
    )
    found = stored.again(outsider)
    assert set(texts(found)) == {None}
    assert {item.withheld for item in found.evidence} == {"acl-denied"}


def test_chunks_changed_in_the_store_are_not_shown(stored: Stored) -> None:
    forged = [
        Chunk("leave", 1, ordinal, "A title", "Heading", 1, text)
        for ordinal, text in enumerate(("Employees get one week.", "And no notice."))
    ]
    stored.store(stored.head, forged)
    found = stored.again()
    assert {item.withheld for item in found.evidence} == {"chunk-mismatch"}


def test_chunks_that_are_gone_leave_the_decision_readable(stored: Stored) -> None:
    stored.objects.delete("evidence/")
    found = stored.again()
    assert set(texts(found)) == {None}
    assert found.trace.gate.verdict is Verdict.ANSWERABLE


def test_a_revoked_token_reads_nothing(stored: Stored) -> None:
    stored.world.ledger.not_before = NOW + timedelta(seconds=1)
    with pytest.raises(Unauthenticated):
        stored.again()


def test_a_ledger_outage_is_an_outage(stored: Stored) -> None:
    stored.world.ledger.fault = Unavailable("throttled", code="ledger-unavailable")
    with pytest.raises(Unavailable):
        stored.again()


# Words that rewrites added


OFF_CORPUS = "Which team won the football world cup in 1998?"
NOTICE = "Fortnights of notice."


@pytest.fixture
def rewritten() -> Stored:
    """An answer whose rewrites took words of two documents."""
    return Stored(("leave", LEAVE), ("notice", NOTICE), question=OFF_CORPUS)


def words(found: StoredAnswer) -> set[str | None]:
    return {word for attempt in found.added_terms for word in attempt}


def given(stored: Stored) -> list[tuple[str, ...]]:
    return [attempt.added_terms for attempt in stored.answer.attempts]


def documents(stored: Stored) -> dict[str, str]:
    """Word to the document that it came from."""
    trace = stored.world.trace(stored.answer.answer_id)
    return {
        word: place.chunk.document_id
        for attempt, kept in zip(stored.answer.attempts, trace.attempts, strict=True)
        for word, place in zip(attempt.added_terms, kept.added_terms, strict=True)
    }


def test_added_terms_are_read_again_as_they_were(rewritten: Stored) -> None:
    assert set(documents(rewritten).values()) == {"leave", "notice"}
    assert list(rewritten.again().added_terms) == given(rewritten)
    assert rewritten.again().added_terms[0] == ()


@pytest.mark.parametrize(
    "change",
    [
        {"state": VersionState.ERASED, "erased_through": 1},
        {"narrowed_to": Acl.of("user:bob")},
        {"acl": Acl.of("user:bob")},
        {"version": 2},
        {"envelope": None},
    ],
)
def test_a_term_whose_chunk_may_no_longer_be_shown_is_not(
    rewritten: Stored, change: dict[str, Any]
) -> None:
    came_from = documents(rewritten)
    rewritten.world.change_head(rewritten.heads["notice"], **change)
    expected = [
        tuple(None if came_from[word] == "notice" else word for word in attempt)
        for attempt in given(rewritten)
    ]
    assert list(rewritten.again().added_terms) == expected
    assert None in words(rewritten.again())
    assert words(rewritten.again()) != {None}


def test_a_term_of_a_superseded_version_is_not_read_from_the_next(rewritten: Stored) -> None:
    rewritten.publish("notice", NOTICE, version=2)
    told = words(rewritten.again())
    assert told == {w for w, of in documents(rewritten).items() if of != "notice"} | {None}


def test_an_auditor_sees_of_anothers_answer_the_terms_that_are_open_to_them(
    rewritten: Stored,
) -> None:
    assert list(rewritten.again(AUDITOR).added_terms) == given(rewritten)
    outsider = reader(
        "eve", groups=frozenset(), scopes=frozenset({"custody/read", "custody/audit"})
    )
    assert words(rewritten.again(outsider)) == {None}


def test_a_term_whose_chunk_is_no_item_of_the_answer_is_checked_too() -> None:
    """The better evidence of a later attempt has pushed it out."""
    stored = Stored(("leave", LEAVE), ("notice", NOTICE), question=OFF_CORPUS)
    answer_id = stored.answer.answer_id
    trace = stored.world.trace(answer_id)
    kept = tuple(item for item in trace.evidence if item.chunk.document_id != "notice")
    assert kept != trace.evidence
    stored.keep(replace(trace, evidence=kept))
    assert list(stored.again().added_terms) == given(stored)
    stored.world.change_head(stored.heads["notice"], narrowed_to=Acl.of("user:bob"))
    assert None in words(stored.again())


@pytest.mark.parametrize("position", [10_000, -1])
def test_a_place_beyond_the_chunk_tells_no_word(rewritten: Stored, position: int) -> None:
    trace = rewritten.world.trace(rewritten.answer.answer_id)
    first, second, *rest = trace.attempts
    beyond = replace(
        second, added_terms=tuple(replace(at, position=position) for at in second.added_terms)
    )
    rewritten.keep(replace(trace, attempts=(first, beyond, *rest)))
    assert set(rewritten.again().added_terms[1]) == {None}


class Fetched(MemoryObjects):
    """Keeps what was fetched of it."""

    def __init__(self) -> None:
        super().__init__(FixedClock())
        self.fetched: list[ObjectRef] = []

    def get(self, ref: ObjectRef, *, limit: int) -> bytes:
        self.fetched.append(ref)
        return super().get(ref, limit=limit)


def test_the_chunks_of_a_version_are_fetched_once() -> None:
    objects = Fetched()
    stored = Stored(objects=objects)
    assert objects.fetched == []
    assert len(stored.again().evidence) == 2
    assert len(objects.fetched) == 1


# A trace that can't be read


def test_a_trace_of_another_form_is_an_outage_to_those_who_may_read_it(stored: Stored) -> None:
    _, kept = stored.kept()
    stored.keep({**kept, "more": 1})
    for who in (reader(), AUDITOR):
        with pytest.raises(Unavailable) as caught:
            stored.again(who)
        assert caught.value.code == "trace-unavailable"
        assert isinstance(caught.value.__cause__, IntegrityError)
    with pytest.raises(NotFound):
        stored.again(reader("bob"))


def test_a_stored_trace_that_can_not_be_unpacked_is_an_outage(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get(tenant: str, trace_id: str) -> None:
        raise IntegrityError("A stored trace can't be read.", code="malformed-item")

    monkeypatch.setattr(stored.world.traces, "get", get)
    with pytest.raises(Unavailable) as caught:
        stored.again()
    assert caught.value.code == "trace-unavailable"
