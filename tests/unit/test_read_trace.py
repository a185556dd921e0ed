from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from custody.application.reading.read_trace import StoredAnswer
from custody.application.reading.search import SearchRequest
from custody.domain.model import Acl, Chunk, Principal, VersionState
from custody.errors import NotFound, Unauthenticated, Unavailable
from tests.support.search_world import reader
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
    gate: Any = found.trace["gate"]
    assert gate["verdict"] == "answerable"


def test_an_auditor_of_the_tenant_reads_it_too(stored: Stored) -> None:
    assert texts(stored.again(AUDITOR))[0] == LEAVE


@pytest.mark.parametrize(
    "who",
    [
        reader("bob"),
        reader("ann", tenant="globex"),
        reader("eve", tenant="globex", scopes=frozenset({"custody/audit"})),
        reader("eve", scopes=frozenset({"custody/govern", "custody/override"})),
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


def test_an_auditor_sees_no_text_that_is_closed_to_them(stored: Stored) -> None:
    outsider = reader("eve", groups=frozenset(), scopes=frozenset({"custody/audit"}))
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
    assert found.trace["kind"] == "answer"


def test_a_revoked_token_reads_nothing(stored: Stored) -> None:
    stored.world.ledger.not_before = NOW + timedelta(seconds=1)
    with pytest.raises(Unauthenticated):
        stored.again()


def test_a_ledger_outage_is_an_outage(stored: Stored) -> None:
    stored.world.ledger.fault = Unavailable("throttled", code="ledger-unavailable")
    with pytest.raises(Unavailable):
        stored.again()
