"""A field, a source or a trust domain that nothing readable carries is refused, whatever else exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from custody.application.reading.search import SearchRequest, SearchResult
from custody.domain.model import Acl, Head, SourceState, VersionState
from custody.errors import Unprocessable
from tests.support.search_world import World, reader

LEAVE = "Employees get sixteen weeks of parental leave."
NAMES: dict[str, dict[str, Any]] = {
    "field": {"filter": {"case": 7}},
    "source": {"source_ids": frozenset({"court"})},
    "trust-domain": {"trust_domains": frozenset({"judicial"})},
}
WHERE = {"field": "filter.case", "source": "source_ids", "trust-domain": "trust_domains"}


def search(world: World, question: str = LEAVE, **changes: Any) -> SearchResult:
    return world.search(reader(), SearchRequest(question, **changes))


def quarantine(world: World, head: Head) -> None:
    world.source("court", trust_domain="judicial", state=SourceState.QUARANTINED)


def narrow(world: World, head: Head) -> None:
    world.change_head(head, narrowed_to=Acl.of("user:bob"))


def erase(world: World, head: Head) -> None:
    world.change_head(head, state=VersionState.ERASED)


def forget(world: World, head: Head) -> None:
    del world.ledger.heads[head.key]


def unsign(world: World, head: Head) -> None:
    world.change_head(head, envelope=None)


@pytest.fixture
def world() -> World:
    made = World()
    made.publish("leave", LEAVE)
    return made


def sentence(world: World, n: int = 0, **changes: Any) -> Head:
    world.source("court", trust_domain="judicial")
    return world.publish(
        f"case{n}",
        f"The court gave sentence {n}.",
        source_id="court",
        metadata={"case": 7},
        **changes,
    )


@pytest.mark.parametrize("kind", NAMES)
def test_a_name_that_something_readable_carries_is_known(world: World, kind: str) -> None:
    sentence(world)
    result = search(world, **NAMES[kind])
    assert [item.key.document_id for item in result.results] == ["case0"]
    assert (world.index.calls, world.ledger.reads) == (["search"], 1)


@pytest.mark.parametrize("kind", NAMES)
def test_nothing_found_by_a_known_name_is_an_empty_answer(world: World, kind: str) -> None:
    sentence(world)
    result = search(world, "zebra", route="sparse", **NAMES[kind])
    assert result.results == ()


@pytest.mark.parametrize("withhold", [None, quarantine, narrow, erase, forget, unsign])
@pytest.mark.parametrize("kind", NAMES)
def test_a_name_of_what_may_not_be_read_is_as_unknown_as_one_of_nothing(
    world: World, kind: str, withhold: Callable[[World, Head], None] | None
) -> None:
    if withhold is not None:
        withhold(world, sentence(world))
    with pytest.raises(Unprocessable) as refused:
        search(world, **NAMES[kind])
    assert (refused.value.code, refused.value.field) == (f"unknown-{kind}", WHERE[kind])
    assert refused.value.detail == f"Nothing that you may read has this {kind.replace('-', ' ')}."


@pytest.mark.parametrize("kind", ["source", "trust-domain"])
def test_each_of_several_names_is_looked_for(world: World, kind: str) -> None:
    """One that finds something does not cover for one that nothing carries."""
    known = {"source": "wiki", "trust-domain": "internal"}[kind]
    (parameter, unknown), = NAMES[kind].items()  # fmt: skip
    with pytest.raises(Unprocessable) as refused:
        search(world, **{parameter: unknown | {known}})
    assert refused.value.code == f"unknown-{kind}"
    sentence(world)
    assert len(search(world, **{parameter: unknown | {known}}).results) == 2


def test_a_name_is_found_behind_many_that_carry_it_and_are_withheld(world: World) -> None:
    for n in range(60):
        narrow(world, sentence(world, n))
    sentence(world, 99)
    assert search(world, "zebra", route="sparse", filter={"case": 7}).results == ()
