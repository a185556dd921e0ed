"""Several indices of one space: of two models, and one that is built beside the one that is served."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from custody.domain.index.candidates import IndexEntry, LegHits, Space
from custody.domain.index.generations import Generation
from custody.domain.model import Acl, DocumentKey, Leg
from custody.errors import CustodyError, IntegrityError, Unavailable
from tests.support.evidence import (
    DIMENSIONS,
    MODEL,
    AnyIndex,
    entry,
    fill,
    lexical,
    query,
    semantic,
    unit,
    wanted,
)

ACME = Space("acme")
A = DocumentKey("acme", "a")
OTHER_MODEL, OTHER_DIMENSIONS = "model-b", 5
ALL = query(ACME, text="fox", vector=unit(1))


def of_other_model(document: str, **changes: object) -> IndexEntry:
    made = entry(document, text="fox", model_revision=OTHER_MODEL, vector=unit(3, OTHER_DIMENSIONS))
    return replace(made, **changes)  # type: ignore[arg-type]  # whatever a test changes


def build(index: AnyIndex, generation: str = "b1") -> Generation:
    return index.create(ACME, generation=generation, model_revision=MODEL, dimensions=DIMENSIONS)


def build_other(index: AnyIndex) -> Generation:
    return index.create(
        ACME, generation="b2", model_revision=OTHER_MODEL, dimensions=OTHER_DIMENSIONS
    )


def asked_by_other(index: AnyIndex) -> LegHits:
    asked = query(ACME, text="fox", vector=unit(3, OTHER_DIMENSIONS), model_revision=OTHER_MODEL)
    return index.search(asked)


def again(delete: Callable[[], None]) -> None:
    """The embedded index asks for a repeat where a reader still holds what was deleted."""
    for _ in range(100):
        try:
            return delete()
        except Unavailable as fault:
            if "repeat" not in fault.detail:
                raise
    raise AssertionError("never deleted")


def test_the_first_document_makes_an_index_that_is_served(index: AnyIndex) -> None:
    assert index.generations(ACME) == ()
    assert index.revisions(ACME) == frozenset()
    fill(index, ACME, [entry("a", text="fox")])
    (made,) = index.generations(ACME)
    assert (made.model_revision, made.dimensions, made.served) == (MODEL, DIMENSIONS, True)
    assert made.mapping_version
    assert made.analysis_version
    assert index.revisions(ACME) == {MODEL}


def test_one_that_is_built_is_not_found_and_takes_all_that_is_written(
    index: AnyIndex,
) -> None:
    fill(index, ACME, [entry("before", text="fox")])
    made = build(index)
    assert not made.served
    assert build(index) == made  # made once
    assert len(index.generations(ACME)) == 2
    fill(index, ACME, [entry("a", text="fox", acl=["user:x"]), entry("b", text="fox")])
    keys = [DocumentKey("acme", name) for name in ("before", "a", "b")]
    assert index.counts_in(ACME, made.name, keys) == {(A, 1): 1, (keys[2], 1): 1}
    assert set(lexical(index.search(ALL))) == set(semantic(index.search(ALL))) == {"before", "b"}
    index.set_acl(ACME, A, 1, Acl.of("everyone"))
    index.delete(ACME, keys[2])
    index.refresh([ACME])
    index.serve(ACME, made.name)
    assert lexical(index.search(ALL)) == semantic(index.search(ALL)) == ["a"]


def test_counts_tell_what_searches_see_and_what_is_left_anywhere(index: AnyIndex) -> None:
    fill(index, ACME, [entry("a", text="fox"), entry("a", ordinal=1)])
    made = build(index)
    assert (index.count(ACME, A, 1), index.left(ACME, A, 1)) == (2, 2)
    index.put_into(ACME, made.name, [entry("a", text="fox")])
    index.refresh([ACME])
    assert (index.count(ACME, A), index.left(ACME, A)) == (2, 3)
    assert index.count(ACME, A, 1, model_revision=MODEL) == 2
    assert index.count(ACME, A, 1, model_revision=OTHER_MODEL) == 0
    index.serve(ACME, made.name)
    assert (index.count(ACME, A), index.left(ACME, A)) == (1, 3)
    index.delete(ACME, A)
    index.refresh([ACME])
    assert (index.count(ACME, A), index.left(ACME, A)) == (0, 0)


def test_what_is_put_into_one_is_in_that_one_alone(index: AnyIndex) -> None:
    fill(index, ACME, [entry("b", text="dog")])
    made = build(index)
    index.put_into(ACME, made.name, [entry("a", text="fox"), entry("a", version=2, text="fox")])
    index.refresh([ACME])
    assert index.search(ALL)[Leg.LEXICAL] == ()
    assert index.counts_in(ACME, made.name, [A]) == {(A, 1): 1, (A, 2): 1}
    index.take_from(ACME, made.name, A, 1)
    assert index.counts_in(ACME, made.name, [A]) == {(A, 2): 1}
    assert index.count(ACME, DocumentKey("acme", "b")) == 1


def test_counts_of_many_versions_are_whole(index: AnyIndex) -> None:
    build(index)
    name = index.generations(ACME)[0].name
    entries = [entry(f"d{n}", version=v) for n in range(60) for v in range(1, 21)]
    index.put_into(ACME, name, entries)
    keys = [DocumentKey("acme", f"d{n}") for n in range(60)]
    assert index.counts_in(ACME, name, keys) == {(k, v): 1 for k in keys for v in range(1, 21)}
    assert index.counts_in(ACME, name, [DocumentKey("acme", "none")]) == {}


def test_serving_replaces_and_the_former_one_is_still_written_until_it_is_dropped(
    index: AnyIndex,
) -> None:
    fill(index, ACME, [entry("a", text="fox"), entry("b", text="fox")])
    first = index.generations(ACME)[0]
    made = build(index)
    index.put_into(ACME, made.name, [entry("a", text="fox")])
    index.refresh([ACME])
    for _ in range(2):
        index.serve(ACME, made.name)
        assert {g.name for g in index.generations(ACME) if g.served} == {made.name}
    fill(index, ACME, [entry("c", text="fox")])
    assert index.counts_in(ACME, first.name, [DocumentKey("acme", "c")])
    with pytest.raises(IntegrityError) as refused:
        index.drop(ACME, made.name)
    assert refused.value.code == "index-served"
    for _ in range(2):
        index.drop(ACME, first.name)
    assert [g.name for g in index.generations(ACME)] == [made.name]
    assert set(lexical(index.search(ALL))) == set(semantic(index.search(ALL))) == {"a", "c"}
    fill(index, ACME, [entry("d", text="fox")])
    with pytest.raises(Unavailable):
        index.put_into(ACME, first.name, [entry("e")])
    assert len(index.generations(ACME)) == 1  # nothing made it anew


def test_each_model_finds_its_own_index(index: AnyIndex) -> None:
    fill(index, ACME, [entry("a", text="fox")])
    made = build_other(index)
    assert index.revisions(ACME) == {MODEL, OTHER_MODEL}
    with pytest.raises(IntegrityError) as refused:
        asked_by_other(index)  # it is not served yet: no empty answer
    assert refused.value.code == "model-revision-mismatch"
    index.ensure(ACME, model_revision=OTHER_MODEL, dimensions=OTHER_DIMENSIONS)
    index.put(ACME, [of_other_model("b")])
    index.refresh([ACME])
    index.serve(ACME, made.name)
    assert lexical(asked_by_other(index)) == semantic(asked_by_other(index)) == ["b"]
    assert lexical(index.search(ALL)) == semantic(index.search(ALL)) == ["a"]
    assert index.count(ACME, A) == 0  # not in both
    assert index.count(ACME, A, model_revision=MODEL) == 1
    index.put(ACME, [of_other_model("a", chunk_id=entry("a").chunk_id)])
    index.refresh([ACME])
    assert index.count(ACME, A) == 1
    index.set_acl(ACME, A, 1, Acl.of("user:x"))
    index.refresh([ACME])
    assert lexical(index.search(ALL)) == []
    assert lexical(asked_by_other(index)) == ["b"]
    index.delete(ACME, A)
    index.refresh([ACME])
    assert index.left(ACME, A) == 0


def test_the_index_of_a_former_model_is_dropped_while_it_is_served(index: AnyIndex) -> None:
    fill(index, ACME, [entry("a", text="fox")])
    first = index.generations(ACME)[0]
    index.serve(ACME, build_other(index).name)
    index.drop(ACME, first.name, served=True)
    with pytest.raises(IntegrityError) as refused:
        index.search(ALL)
    assert refused.value.code == "model-revision-mismatch"
    assert asked_by_other(index) == LegHits()


def test_a_sample_is_of_the_index_that_is_asked(index: AnyIndex) -> None:
    fill(index, ACME, [entry("a", text="fox", metadata={"team": "x"})])
    index.serve(ACME, build_other(index).name)
    of_team = [wanted(carries="team")]
    assert [len(found) for found in index.sample(query(ACME), of_team, 9)] == [1]
    assert index.sample(query(ACME, model_revision=OTHER_MODEL), of_team, 9) == ((),)


def test_writes_go_on_while_indices_come_and_go(index: AnyIndex) -> None:
    fill(index, ACME, [entry("a", text="fox")])
    over = threading.Event()
    faults: list[Exception] = []

    def write() -> None:
        n = 0
        while not over.is_set():
            n += 1
            try:
                index.put(ACME, [entry(f"w{n % 5}", text="fox")])
                index.refresh([ACME])
                index.set_acl(ACME, DocumentKey("acme", f"w{n % 5}"), 1, Acl.of("everyone"))
                again(lambda: index.delete(ACME, DocumentKey("acme", f"w{n % 5}")))  # noqa: B023
                index.left(ACME, A)
                if lexical(index.search(ALL)).count("a") != 1:
                    raise AssertionError("missed")
            except (CustodyError, AssertionError) as fault:
                faults.append(fault)
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for n in range(4):
            former = next(g for g in index.generations(ACME) if g.served)
            made = build(index, f"b{n}")
            index.put_into(ACME, made.name, [entry("a", text="fox")])
            index.refresh([ACME])
            index.serve(ACME, made.name)
            again(lambda: index.drop(ACME, former.name))  # noqa: B023
    finally:
        over.set()
        writer.join(60)
    assert faults == []
    assert len(index.generations(ACME)) == 1
