"""Invariant 1: nothing unsigned is served, on any way out, by a warm container as by a cold one.

Each fault is put between a publication and a read. The read before it warms every cache, so what is
remembered can only be the result of the cryptography.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from custody.application.reading.answer import AnswerRequest
from custody.application.reading.search import SearchRequest
from custody.domain.index.candidates import IndexEntry
from custody.domain.model import Head, KeyState, Outcome, VerificationKey
from custody.domain.provenance import statement
from custody.domain.provenance.canonical import canonical_json, parse_json
from custody.domain.ranking.sufficiency import Reason, Verdict
from tests.support.search_world import World, reader
from tests.support.signed_evidence import NOW, signer
from tests.support.stored_answer import QUESTION, Stored

type Fault = Callable[[World], None]
STRANGER = signer()
AUDITOR = reader(scopes=frozenset({"custody/read", "custody/audit"}))


def heads(change: Callable[[World, Head], Head]) -> Fault:
    def fault(world: World) -> None:
        for key, head in list(world.ledger.heads.items()):
            world.ledger.heads[key] = change(world, head)

    return fault


def entries(change: Callable[[IndexEntry], IndexEntry]) -> Fault:
    def fault(world: World) -> None:
        for chunk_id, entry in list(world.index.entries.items()):
            world.index.entries[chunk_id] = change(entry)

    return fault


def keys(change: Callable[[VerificationKey], VerificationKey | None]) -> Fault:
    def fault(world: World) -> None:
        changed = map(change, world.ledger.trusted.keys.values())
        kept = {key.keyid: key for key in changed if key is not None}
        world.ledger.trusted = replace(world.ledger.trusted, keys=kept)

    return fault


def _envelope(**changes: Any) -> Fault:
    def change(world: World, head: Head) -> Head:
        assert head.envelope is not None
        return replace(head, envelope=replace(head.envelope, **changes))

    return heads(change)


def _resigned(by_stranger: bool, **claims: object) -> Fault:
    """One claim of the statement is changed, and it is signed again."""

    def change(world: World, head: Head) -> Head:
        assert head.envelope is not None
        value: Any = parse_json(head.envelope.payload)
        value["predicate"].update(claims)
        payload = canonical_json(value)
        by = STRANGER if by_stranger else world.signer
        return replace(
            head,
            envelope=by.sign(statement.PAYLOAD_TYPE, payload),
            statement_id=statement.statement_id(payload),
        )

    return heads(change)


FAULTS: dict[str, tuple[Fault, Outcome]] = {
    "no statement": (heads(lambda _, head: replace(head, envelope=None)), Outcome.UNVERIFIED),
    "no head": (lambda world: world.ledger.heads.clear(), Outcome.STALE),
    "another signature": (_envelope(signature=b"0" * 70), Outcome.TAMPERED),
    "another payload": (_envelope(payload=b"{}"), Outcome.TAMPERED),
    "another payload type": (_envelope(payload_type="text/plain"), Outcome.TAMPERED),
    "another statement of ours": (_resigned(False, version=9), Outcome.TAMPERED),
    "a stranger's statement": (_resigned(True), Outcome.UNVERIFIED),
    "a key that is not in the trust set": (keys(lambda key: None), Outcome.UNVERIFIED),
    "a policy key": (keys(lambda key: replace(key, purpose="policy")), Outcome.UNVERIFIED),
    "a retired key": (
        keys(lambda key: replace(key, state=KeyState.RETIRED)),
        Outcome.UNVERIFIED,
    ),
    "a revoked key": (
        keys(lambda key: replace(key, state=KeyState.REVOKED)),
        Outcome.UNVERIFIED,
    ),
    "a key of later": (keys(lambda key: replace(key, not_before=NOW)), Outcome.UNVERIFIED),
    "another text": (entries(lambda e: replace(e, text=e.text + " Not.")), Outcome.TAMPERED),
    "another title": (entries(lambda e: replace(e, title="Board decision")), Outcome.TAMPERED),
    "another heading": (entries(lambda e: replace(e, heading="Approved")), Outcome.TAMPERED),
    "another page": (entries(lambda e: replace(e, page=99)), Outcome.TAMPERED),
    "another place": (entries(lambda e: replace(e, ordinal=e.ordinal + 1)), Outcome.TAMPERED),
    "another source": (entries(lambda e: replace(e, source_id="board")), Outcome.TAMPERED),
    "no proof": (entries(lambda e: replace(e, proof=("00" * 32,))), Outcome.TAMPERED),
}


@pytest.fixture
def stored() -> Stored:
    made = Stored()
    assert made.again().evidence[0].verified is not None
    return made


@pytest.mark.parametrize("name", FAULTS)
def test_a_search_withholds_it_and_counts_the_outcome(stored: Stored, name: str) -> None:
    fault, outcome = FAULTS[name]
    world = stored.world
    assert world.search(reader(), SearchRequest(QUESTION)).results
    fault(world)
    result = world.search(AUDITOR, SearchRequest(QUESTION))
    assert result.results == ()
    assert set(result.outcomes) == {outcome}
    assert sum(result.withheld.values()) == result.outcomes[outcome] == 2


@pytest.mark.parametrize("name", FAULTS)
def test_an_answer_has_no_evidence_and_can_not_be_forced(stored: Stored, name: str) -> None:
    world = stored.world
    FAULTS[name][0](world)
    forcing = reader(scopes=frozenset({"custody/read", "custody/override"}))
    answer = world.answers(forcing, AnswerRequest(SearchRequest(QUESTION), gate_override=True))
    assert (answer.verdict, answer.judgement.reasons) == (
        Verdict.INSUFFICIENT,
        (Reason.NO_EVIDENCE,),
    )
    assert answer.evidence == ()
    assert answer.envelope is None


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in (
    # These change what the index holds; a stored answer is read from the stored chunks.
    "another text", "another title", "another heading", "another page", "another place",
    "another source", "no proof",
)])  # fmt: skip
def test_a_stored_answer_shows_no_text_of_it(stored: Stored, name: str) -> None:
    FAULTS[name][0](stored.world)
    assert [item.verified for item in stored.again().evidence] == [None, None]


def test_what_is_remembered_is_never_the_standing_of_a_key(stored: Stored) -> None:
    """Revoked, trusted again, revoked: each read says what the ledger says at that moment."""
    world = stored.world
    trusted = world.ledger.trusted
    for _ in range(2):
        keys(lambda key: replace(key, state=KeyState.REVOKED))(world)
        assert world.search(reader(), SearchRequest(QUESTION)).results == ()
        world.ledger.trusted = trusted
        assert world.search(reader(), SearchRequest(QUESTION)).results
