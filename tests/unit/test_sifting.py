"""Odd entries and broken items cost themselves, not the search; what is withheld starves nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from custody.application.reading.search import SearchRequest, SearchResult
from custody.domain.index.candidates import Hit, IndexEntry, LegHits
from custody.domain.model import (
    Acl,
    DocumentKey,
    Leg,
    Outcome,
    SourceKey,
    SourceState,
    VersionState,
)
from custody.errors import CustodyError, IntegrityError, NotFound, Unavailable
from tests.support.search_world import World, reader

QUESTION = "How many weeks of parental leave do employees get?"
LEAVE = "Employees get sixteen weeks of parental leave."
NEARER = "How many weeks of parental leave do employees get? Employees get weeks of leave. "
LOOK_ALIKES = 60


def search(world: World, **changes: object) -> SearchResult:
    return world.search(reader(), SearchRequest(QUESTION, **changes))  # type: ignore[arg-type]


def found(result: SearchResult) -> list[str]:
    return [item.key.document_id for item in result.results]


def each_leg(change: Callable[[Sequence[Hit]], Sequence[Hit]]) -> Callable[[LegHits], LegHits]:
    return lambda hits: replace(hits, legs={leg: tuple(change(hits[leg])) for leg in hits.legs})


@pytest.fixture
def world() -> World:
    made = World()
    made.publish("leave", LEAVE)
    made.publish("lunch", "Lunch is served at noon.")
    return made


# Odd entries


def test_hits_that_are_no_entries_are_counted_and_the_rest_is_served(world: World) -> None:
    expected = search(world)
    world.index.change = lambda hits: replace(hits, unreadable={Leg.SEMANTIC: 3, Leg.LEXICAL: 2})
    result = search(world)
    assert result.results == expected.results
    assert result.withheld == {"entry-unreadable": 3}  # of both legs' hits the more, not the sum
    assert result.outcomes == {Outcome.VERIFIED: 2, Outcome.TAMPERED: 3}


def test_an_entry_that_is_proposed_twice_counts_and_ranks_once(world: World) -> None:
    expected = search(world)
    world.index.change = each_leg(lambda hits: [hit for hit in hits for _ in range(2)])
    result = search(world)
    assert result.results == expected.results
    assert result.withheld == {"entry-repeated": 2}
    assert result.outcomes == {Outcome.VERIFIED: 2, Outcome.TAMPERED: 2}


def test_a_true_entry_under_one_id_with_another_acl_does_not_rank_twice(world: World) -> None:
    """What an index says of an ACL is not under the signature, so both verify."""
    expected = search(world)
    world.index.change = each_leg(
        lambda hits: [
            each
            for hit in hits
            for each in (Hit(replace(hit.entry, acl=("everyone",)), hit.score), hit)
        ]
    )
    result = search(world)
    assert [item.chunk_id for item in result.results] == [i.chunk_id for i in expected.results]
    assert [item.scores.fusion for item in result.results] == [
        item.scores.fusion for item in expected.results
    ]
    assert result.withheld == {"entry-repeated": 2}


def test_a_similarity_by_another_model_is_withheld_and_the_rest_is_served(world: World) -> None:
    for chunk_id, entry in world.index.entries.items():
        if entry.key.document_id == "lunch":
            world.index.entries[chunk_id] = replace(entry, model_revision="m0")
    result = search(world, route="dense")
    assert found(result) == ["leave"]
    assert result.withheld == {"other-model": 1}
    assert result.outcomes == {Outcome.VERIFIED: 1, Outcome.UNVERIFIED: 1}


def test_where_nothing_is_left_to_trust_there_is_no_empty_answer(world: World) -> None:
    for odd in (
        each_leg(lambda hits: [Hit(replace(h.entry, model_revision="m0"), h.score) for h in hits]),
        lambda hits: LegHits(unreadable={Leg.SEMANTIC: 1}),
    ):
        world.index.change = odd
        with pytest.raises(Unavailable) as caught:
            search(world, route="dense")
        assert caught.value.code == "index-unavailable"


def test_an_empty_answer_of_a_sound_index_is_one(world: World) -> None:
    world.index.entries.clear()
    assert search(world).results == ()


# Broken items


def test_a_head_that_cannot_be_read_costs_its_document_alone(world: World) -> None:
    world.ledger.damaged = {DocumentKey("acme", "lunch")}
    result = search(world)
    assert found(result) == ["leave"]
    assert result.withheld == {"ledger-unreadable": 1}
    assert result.outcomes[Outcome.TAMPERED] == 1


def test_a_source_that_cannot_be_read_costs_its_documents_alone(world: World) -> None:
    world.publish("note", "Employees get weeks of leave.", source_id="press")
    world.ledger.damaged = {SourceKey("acme", "press")}
    result = search(world)
    assert found(result) == ["leave", "lunch"]
    assert result.withheld == {"ledger-unreadable": 1}


def test_where_no_record_can_be_read_there_is_no_empty_answer(world: World) -> None:
    world.ledger.damaged = set(world.ledger.heads)
    with pytest.raises(Unavailable) as caught:
        search(world)
    assert caught.value.code == "index-unavailable"


def test_who_oversees_is_told_of_a_broken_head_and_a_reader_of_nothing(world: World) -> None:
    world.ledger.damaged = {DocumentKey("acme", "lunch")}
    show = world.service.documents.show
    with pytest.raises(NotFound):
        show(reader(), "lunch")
    with pytest.raises(IntegrityError) as caught:
        show(reader(scopes=frozenset({"custody/read", "custody/audit"})), "lunch")
    assert caught.value.code == "malformed-item"


# Starving


def crowd(world: World, *, source_id: str = "forum", count: int = LOOK_ALIKES) -> list[DocumentKey]:
    return [
        world.publish(f"copy{n}", NEARER + f"Copy {n}.", source_id=source_id).key
        for n in range(count)
    ]


def quarantine(world: World) -> None:
    world.source("forum", state=SourceState.QUARANTINED)


def erase(world: World) -> None:
    for key, head in list(world.ledger.heads.items()):
        if key.document_id.startswith("copy"):
            world.change_head(head, state=VersionState.ERASED)


def forget(world: World) -> None:
    for key in [key for key in world.ledger.heads if key.document_id.startswith("copy")]:
        del world.ledger.heads[key]


def narrow(world: World) -> None:
    for key, head in list(world.ledger.heads.items()):
        if key.document_id.startswith("copy"):
            world.change_head(head, narrowed_to=Acl.of("user:bob"))


@pytest.mark.parametrize("refuse", [quarantine, erase, forget, narrow])
def test_a_crowd_that_is_withheld_leaves_its_places_to_what_lies_behind(
    world: World, refuse: Callable[[World], None]
) -> None:
    crowd(world)
    refuse(world)
    result = search(world, k=2)
    assert found(result) == ["leave", "lunch"]
    first, second = world.index.queries
    assert first.depth == 50 < LOOK_ALIKES
    assert first.filter.without_documents == frozenset()
    assert first.filter.without_sources == frozenset()
    if refuse is quarantine:
        assert second.filter.without_sources == {("acme", "forum")}
    else:
        assert len(second.filter.without_documents) >= 50
    assert sum(result.withheld.values()) >= 50
    assert world.ledger.reads == 2
    alone = World()
    alone.publish("leave", LEAVE)
    alone.publish("lunch", "Lunch is served at noon.")
    assert [i.scores for i in result.results] == [i.scores for i in search(alone, k=2).results]


def test_old_chunks_of_live_documents_are_passed_by_asking_deeper(world: World) -> None:
    """A filter can't leave out one version alone, and the document's present one must be found."""
    entries: list[IndexEntry] = []
    for n in range(LOOK_ALIKES):
        before = dict(world.index.entries)
        world.publish(f"copy{n}", NEARER + f"Copy {n}.")
        entries += [e for cid, e in world.index.entries.items() if cid not in before]
        world.publish(f"copy{n}", "Something else.", version=2, index=False)
    assert found(search(world, k=2)) == ["leave", "lunch"]
    assert [query.depth for query in world.index.queries] == [50, 50, 200]  # the second: overtaken


def test_false_entries_of_a_good_document_do_not_get_it_left_out(world: World) -> None:
    """Whoever writes into the index must not choose what the second question leaves out."""
    (leave,) = [e for e in world.index.entries.values() if e.key.document_id == "leave"]
    forged = [
        replace(leave, chunk_id=f"x{n}", ordinal=n + 1, text=NEARER) for n in range(LOOK_ALIKES)
    ]
    lied = [replace(leave, chunk_id=f"y{n}", text=NEARER, source_id="forum") for n in range(5)]
    world.index.entries.update((entry.chunk_id, entry) for entry in [*forged, *lied])
    quarantine(world)
    assert found(search(world, k=2)) == ["leave", "lunch"]


def test_what_is_withheld_among_enough_costs_no_second_question(world: World) -> None:
    crowd(world, count=10)
    quarantine(world)
    assert found(search(world, k=2)) == ["leave", "lunch"]
    assert len(world.index.queries) == 1


def test_a_crowd_that_is_served_costs_no_second_question(world: World) -> None:
    crowd(world)
    assert len(found(search(world, k=2))) == 2
    assert len(world.index.queries) == 1


def test_a_refusal_while_asking_deeper_is_the_searchs(world: World) -> None:
    crowd(world)
    quarantine(world)

    def vanish(hits: LegHits) -> LegHits:
        if len(world.index.queries) == 2:
            raise Unavailable("gone", code="index-unavailable")
        return hits

    world.index.change = vanish
    with pytest.raises(CustodyError):
        search(world, k=2)
