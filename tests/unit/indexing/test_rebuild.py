"""An index is built anew while documents are published, changed and erased."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.application.erasure.request import ErasureRequest
from custody.application.indexing.rebuild import MOST_PASSES
from custody.application.ingestion.change_acl import AclRequest
from custody.domain.index.builds import BuildState, BuildStep, IndexBuild, opened
from custody.domain.jobs import EraseJob, Job, RebuildJob
from custody.domain.ledger.access import wanted_acl
from custody.domain.model import BuildKey, DocumentKey, Leg, Scope
from custody.domain.provenance import index_statement, snapshot
from custody.errors import (
    Conflict,
    Forbidden,
    IntegrityError,
    NotFound,
    Unavailable,
    Unprocessable,
)
from tests.support.evidence import query, wanted
from tests.support.ingest_world import GOVERNOR, KINDS, TENANT, WRITER, Crash
from tests.support.rebuild_world import ACME, RebuildWorld

GUIDE = DocumentKey(TENANT, "guide")


def fill(world: RebuildWorld, count: int = 8) -> set[tuple[str, int]]:
    for n in range(count):
        world.publish_document(f"d{n}", f"alpha {n}\nbeta {n}")
    return {(f"d{n}", 1) for n in range(count)}


def test_the_new_index_takes_the_place_of_the_old_one_and_holds_the_same(
    world: RebuildWorld,
) -> None:
    expected = fill(world)
    before = [replace(entry, recorded_from=None) for entry in world.proposed("alpha 3")]
    old = world.served_name()
    key = world.begin()
    world.work()
    build = world.build(key)
    assert build.state is BuildState.SERVED
    assert (build.versions, build.chunks, build.written) == (8, 16, 16)
    assert world.served_name() == build.index != old
    found = world.proposed("alpha 3")
    assert [replace(entry, recorded_from=None) for entry in found] == before
    for entry in found:  # a publisher knows only a time before which it was not live
        head = world.ledger.head(entry.key)
        assert head is not None
        assert entry.recorded_from == head.recorded_at
    assert world.live() == expected


def test_the_former_index_is_written_for_a_while_and_then_dropped(world: RebuildWorld) -> None:
    fill(world)
    old = world.served_name()
    world.begin()
    world.work()
    first = next(b for b in world.told() if b.index == old)
    assert (first.key.build_id, first.state) == ("live-0", BuildState.RETIRING)
    late = world.publish_document("late")
    assert world.index.counts_in(ACME, old, [late]) == {(late, 1): 2}
    world.later(60)
    world.work()  # too early: it asks for itself again
    assert len(world.index.generations(ACME)) == 2
    world.later(70)
    world.work()
    assert [each.name for each in world.index.generations(ACME)] == [world.served_name()]
    assert world.build(first.key).state is BuildState.RETIRED
    assert ("late", 1) in world.live()


def test_a_third_index_replaces_the_second(world: RebuildWorld) -> None:
    expected = fill(world)
    keys = []
    for _ in range(2):
        keys.append(world.begin())
        world.work()
        world.later(200)
        world.work()
    assert [k.build_id for k in keys] == ["live-1", "live-2"]
    assert [world.build(key).state for key in keys] == [BuildState.RETIRED, BuildState.SERVED]
    assert len(world.index.generations(ACME)) == 1
    assert world.live() == expected


def test_an_index_that_was_lost_is_made_again(world: RebuildWorld) -> None:
    expected = fill(world)
    world.index.drop(ACME, world.served_name(), served=True)
    assert world.live() == set()
    world.begin()
    world.work()
    assert world.live() == expected


def test_stored_vectors_are_used_and_nothing_is_embedded(world: RebuildWorld) -> None:
    fill(world)
    asked: list[object] = []
    world.embedder.embed_passages = asked.append  # type: ignore[method-assign,assignment]  # must not be called
    world.begin()
    world.work()
    assert asked == []


def test_what_it_was_built_of_is_signed(world: RebuildWorld) -> None:
    fill(world, 5)
    key = world.begin()
    world.work()
    build = world.build(key)
    assert build.envelope is not None
    signer = world.ports.signer("index")
    assert EcdsaVerifier().verify(build.envelope, signer.verification_key())
    stated = index_statement.parse(build.envelope.payload)
    total = b""
    for n in (3, 1, 0, 4, 2):
        head = world.ledger.head(DocumentKey(TENANT, f"d{n}"))
        assert head is not None
        total = snapshot.added(total, f"d{n}", 1, head.chunk_root or "")
    assert stated.digest == snapshot.digest(total) == build.snapshot_digest
    assert (stated.index, stated.versions, stated.chunks) == (build.index, 5, 10)
    assert (stated.tenant, stated.space, stated.build_id) == (TENANT, "live", "live-1")
    assert stated.model_revision == world.embedder.revision


def test_a_version_that_is_signed_when_the_index_is_made_is_in_it(world: RebuildWorld) -> None:
    """Its publisher may have listed the indices before there was this one."""
    fill(world, 2)
    world.while_waiting = lambda: None
    world.publish_document("guide")
    real = world.index.put
    world.index.put = lambda space, entries: _kill()  # type: ignore[method-assign]  # killed after it signed
    with pytest.raises(Crash):
        world.work()
    world.index.put = real  # type: ignore[method-assign]  # put back
    signed = world.ledger.version(GUIDE, 1)
    assert signed is not None
    assert signed.envelope is not None
    key = world.begin()
    world.run(key)
    assert world.index.counts_in(ACME, world.served_name(), [GUIDE]) == {(GUIDE, 1): 2}
    world.work()  # the publication is delivered again
    assert ("guide", 1) in world.live()


def _kill() -> None:
    raise Crash("before put")


# --- whatever happens in between ------------------------------------------------------------------


def narrow(world: RebuildWorld) -> None:
    world.change_acl(WRITER, AclRequest("d0", ("user:zoe",)))


def erase(world: RebuildWorld) -> None:
    world.erasures.request(WRITER, ErasureRequest("d1", "it is over"))


def supersede(world: RebuildWorld) -> None:
    world.publish_document("d2", "alpha two\nbeta two\ngamma two")


def add(world: RebuildWorld) -> None:
    world.publish_document("new", "alpha new\nbeta new")


def bring_back(world: RebuildWorld) -> None:
    erase(world)
    world.work()
    world.publish_document("d1", "alpha again")


def nothing(_: RebuildWorld) -> None:
    pass


LIVE = {("d0", 1), ("d1", 1), ("d2", 1), ("d3", 1)}
CHANGES: dict[str, tuple[Callable[[RebuildWorld], None], set[tuple[str, int]]]] = {
    "narrowed": (narrow, LIVE - {("d0", 1)}),
    "erased": (erase, LIVE - {("d1", 1)}),
    "superseded": (supersede, LIVE - {("d2", 1)} | {("d2", 2)}),
    "added": (add, LIVE | {("new", 1)}),
    "erased and published again": (bring_back, LIVE - {("d1", 1)} | {("d1", 2)}),
}


def holds_exactly_what_is_live(world: RebuildWorld) -> None:
    """The served index holds the live versions and nothing else, each open to whom the ledger says."""
    names = [f"d{n}" for n in range(4)] + ["new"]
    keys = [DocumentKey(TENANT, name) for name in names]
    heads = {key: head for key in keys if (head := world.ledger.head(key)) is not None}
    counted = world.index.counts_in(ACME, world.served_name(), keys)
    assert counted == {
        (key, head.version): head.chunk_count for key, head in heads.items() if head.version
    }
    everyone = wanted(terms=["group:staff", "user:zoe"], valid_at=world.clock.now())
    found = world.index.search(
        query(ACME, text="alpha", only=everyone, model_revision=world.embedder.revision)
    )
    for hit in found[Leg.LEXICAL]:
        assert hit.entry.acl == wanted_acl(heads[hit.entry.key]).allow


def finish(world: RebuildWorld) -> None:
    """What was killed is delivered again, once its lease is over."""
    for _ in range(50):
        try:
            world.work()
        except Unavailable as busy:
            if busy.code not in ("build-busy", "erasure-partial"):
                raise
            world.later(61)
        else:
            return
    raise AssertionError("never done")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", range(1, 80, 2))
def test_a_change_between_any_two_steps_is_in_the_new_index(
    world: RebuildWorld, change: str, moment: int
) -> None:
    act, expected = CHANGES[change]
    fill(world, 4)
    world.use_pace(documents=2)
    seen: list[set[tuple[str, int]]] = []

    def happen() -> None:
        act(world)
        drain_others(world)
        seen.append(world.live())

    world.interrupter.moment, world.interrupter.act = moment, happen
    key = world.begin()
    finish(world)
    assert world.build(key).state is BuildState.SERVED
    if not seen:
        happen()  # the build was over before
        finish(world)
    assert seen == [expected]
    assert world.live() == expected
    holds_exactly_what_is_live(world)


def drain_others(world: RebuildWorld) -> None:
    """All but the build, and erasures, which may have to wait for it."""
    kept: list[Job] = []
    waiting = (RebuildJob, EraseJob)
    world.queue.drain({kind: kept.append if kind in waiting else world.handle for kind in KINDS})
    world.queue.send(kept)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 80, 2))
def test_a_run_that_is_killed_anywhere_is_taken_up_again(
    world: RebuildWorld, at: int, after: bool
) -> None:
    fill(world, 4)
    world.use_pace(documents=2)
    key = world.begin()
    world.killer.calls, world.killer.at, world.killer.after = 0, at, after
    with suppress(Crash):
        world.work()
        assert world.killer.calls < at  # it was over before
    world.killer.at = None
    assert world.live() == LIVE
    world.while_waiting = lambda: drain_others(world)
    narrow(world)
    supersede(world)
    add(world)
    finish(world)
    assert world.build(key).state is BuildState.SERVED
    assert world.live() == {("d1", 1), ("d2", 2), ("d3", 1), ("new", 1)}
    holds_exactly_what_is_live(world)
    world.later(200)
    finish(world)
    assert len(world.index.generations(ACME)) == 1
    holds_exactly_what_is_live(world)


# --- steps and passes -----------------------------------------------------------------------------


def until(world: RebuildWorld, key: BuildKey, step: BuildStep) -> None:
    """Run it step by step, up to the one that is named."""
    world.use_pace(run=timedelta(0))
    while world.build(key).step is not step:
        world.run(key)


def test_what_is_missing_is_put_back_and_the_whole_is_read_again(world: RebuildWorld) -> None:
    expected = fill(world)
    key = world.begin()
    until(world, key, BuildStep.VERIFY)
    lost = DocumentKey(TENANT, "d3")
    world.index.take_from(ACME, world.build(key).index or "", lost, 1)
    world.run(key)
    build = world.build(key)
    assert (build.step, build.passes) == (BuildStep.VERIFY, 2)
    assert build.current is not None
    assert build.current.versions == 0  # from the beginning
    world.work()
    assert world.build(key).passes == 2
    assert (world.build(key).versions, world.build(key).written) == (8, 18)
    assert world.live() == expected


def test_what_should_not_be_there_is_taken_out(world: RebuildWorld) -> None:
    expected = fill(world)
    key = world.begin()
    until(world, key, BuildStep.VERIFY)
    name, d3 = world.build(key).index or "", DocumentKey(TENANT, "d3")
    (entry,) = [e for e in world.proposed("alpha") if e.key == d3 and e.ordinal == 0]
    vector = world.embedder.embed_query(entry.text)
    forged = replace(entry, chunk_id="forged", version=7, vector=vector)
    world.index.put_into(ACME, name, [forged])
    world.work()
    assert world.index.counts_in(ACME, name, [d3]) == {(d3, 1): 2}
    assert world.build(key).passes == 1  # nothing was missing
    assert world.live() == expected


def test_an_index_that_keeps_losing_documents_is_never_served(world: RebuildWorld) -> None:
    fill(world)
    old = world.served_name()
    key = world.begin()
    until(world, key, BuildStep.VERIFY)
    lost = DocumentKey(TENANT, "d3")

    def lose_and_run() -> None:
        world.index.take_from(ACME, world.build(key).index or "", lost, 1)
        world.run(key)

    for _ in range(MOST_PASSES - 1):
        lose_and_run()
    with pytest.raises(IntegrityError) as refused:
        lose_and_run()
    assert refused.value.code == "index-incomplete"
    assert world.served_name() == old


def test_a_large_corpus_is_read_page_by_page_in_many_runs(world: RebuildWorld) -> None:
    expected = fill(world, 230)
    world.use_pace(run=timedelta(0), documents=40)
    key = world.begin()
    runs = 0
    while world.build(key).state is BuildState.BUILDING:
        world.run(key)
        runs += 1
    assert runs >= 1 + 3 + 3 + 1 + 1  # create, three pages twice, sign, switch
    assert (world.build(key).versions, world.build(key).written) == (230, 460)
    assert world.live() == expected


def test_a_batch_holds_as_many_chunks_as_it_may_or_one_document(world: RebuildWorld) -> None:
    fill(world, 5)
    world.publish_document("large", "\n".join(f"alpha {n}" for n in range(40)))
    world.use_pace(chunks=5)
    sizes: list[int] = []
    real = world.builds.put_build

    def put(build: IndexBuild) -> IndexBuild:
        if build.batch is not None:
            sizes.append(len(build.batch.documents))
        return real(build)

    world.builds.put_build = put  # type: ignore[method-assign]  # listens
    world._build()
    world.begin()
    world.work()
    assert sizes == [2, 2, 1, 1]


def test_a_run_leaves_off_in_the_middle_of_a_document_that_takes_too_long(
    world: RebuildWorld,
) -> None:
    expected = fill(world, 2)
    key = world.begin()
    until(world, key, BuildStep.COPY)
    world.use_pace(longest=timedelta(milliseconds=2))
    world.run(key)
    build = world.build(key)
    assert (build.step, build.batch) == (BuildStep.COPY, None)
    assert world.queue.pending[-1] == RebuildJob(key)
    world.use_pace(longest=timedelta(seconds=240))
    world.work()
    assert world.live() == expected


# --- one at a time --------------------------------------------------------------------------------


def test_a_second_run_waits_for_the_lease_of_the_first(world: RebuildWorld) -> None:
    fill(world, 4)
    key = world.begin()
    until(world, key, BuildStep.COPY)
    world.use_pace(documents=2)
    world.killer.calls, world.killer.at = 0, 12
    with pytest.raises(Crash):
        world.run(key)
    assert world.build(key).batch is not None
    with pytest.raises(Unavailable) as busy:
        world.run(key)
    assert busy.value.code == "build-busy"
    world.later(61)
    world.work()
    assert world.build(key).state is BuildState.SERVED


def test_two_runs_at_once_do_not_get_in_each_others_way(world: RebuildWorld) -> None:
    expected = fill(world, 4)
    key = world.begin()

    def rival() -> None:
        with suppress(Unavailable):
            world.service.rebuild(RebuildJob(key))

    for moment in range(1, 40, 3):
        world.interrupter.watched, world.interrupter.moment = 0, moment
        world.interrupter.act = rival
        with suppress(Unavailable):
            world.run(key)
    finish(world)
    assert world.build(key).state is BuildState.SERVED
    assert world.live() == expected


def test_a_run_whose_time_is_over_puts_nothing(world: RebuildWorld) -> None:
    """Its lease was taken over by another run meanwhile."""
    fill(world, 2)
    key = world.begin()
    until(world, key, BuildStep.COPY)
    world.use_pace(run=timedelta(seconds=120))
    put: list[str] = []

    def sleep_and_lose() -> None:
        world.clock.sleep(100)
        build = world.build(key)
        if build.batch is None:
            return
        other = replace(build.batch, run="another")
        world.builds.put_build(opened(build, other, now=world.clock.now()))
        world.index.put_into = lambda *_: put.append("late")  # type: ignore[method-assign]  # heard

    before = world.interrupter.watched
    world.interrupter.moment, world.interrupter.act = before + 6, sleep_and_lose
    with pytest.raises(Unavailable):
        world.run(key)
    assert world.build(key).batch is not None
    assert put == []


# --- asking for it --------------------------------------------------------------------------------


def test_asking_twice_is_one_build(world: RebuildWorld) -> None:
    fill(world, 2)
    assert world.begin() == world.begin()
    with pytest.raises(Conflict) as refused:
        world.begin("other")
    assert refused.value.code == "index-in-use"
    world.work()
    assert {build.key.build_id for build in world.told()} == {"live-0", "live-1", "history-1"}


def test_only_a_governor_asks_and_only_of_the_own_tenant(world: RebuildWorld) -> None:
    fill(world, 1)
    key = world.begin()
    world.work()
    for call in (world.service.indices.rebuild, world.service.indices.show):
        with pytest.raises(Forbidden):
            call(WRITER)
    stranger = replace(GOVERNOR, tenant="globex")
    assert world.service.indices.show(stranger) == []
    with pytest.raises(NotFound):
        world.service.indices.drop(stranger, key.build_id)
    auditor = replace(GOVERNOR, scopes=frozenset({Scope.AUDIT.value}))
    assert len(world.service.indices.show(auditor)) == 3
    with pytest.raises(Forbidden):
        world.service.indices.drop(auditor, key.build_id)


def test_a_model_that_is_not_there_is_told(world: RebuildWorld) -> None:
    fill(world, 1)
    key = world.begin("other")
    world.work()
    build = world.build(key)
    assert (build.state, build.reason) == (BuildState.ABANDONED, "model-missing")
    with pytest.raises(Unprocessable):
        world.begin("best")


def test_where_there_is_nothing_no_index_is_kept(world: RebuildWorld) -> None:
    key = world.begin()
    world.work()
    build = world.build(key)
    assert (build.state, build.reason) == (BuildState.ABANDONED, "nothing-to-index")
    assert world.index.generations(ACME) == ()
    world.publish_document("first")
    assert world.live() == {("first", 1)}


@pytest.mark.parametrize("step", [BuildStep.CREATE, BuildStep.COPY, BuildStep.VERIFY])
def test_a_build_is_given_up_and_its_index_dropped(world: RebuildWorld, step: BuildStep) -> None:
    expected = fill(world)
    old = world.served_name()
    key = world.begin()
    until(world, key, step)
    world.service.indices.drop(GOVERNOR, key.build_id)
    world.work()
    build = world.build(key)
    assert (build.state, build.reason, build.index) == (BuildState.ABANDONED, "given-up", None)
    assert [each.name for each in world.index.generations(ACME)] == [old]
    assert world.live() == expected
    again = world.begin()
    world.work()
    assert world.build(again).state is BuildState.SERVED


def test_what_is_served_or_about_to_be_is_not_given_up(world: RebuildWorld) -> None:
    fill(world)
    key = world.begin()
    until(world, key, BuildStep.SWITCH)
    with pytest.raises(Conflict) as refused:
        world.service.indices.drop(GOVERNOR, key.build_id)
    assert refused.value.code == "index-in-use"
    world.work()
    with pytest.raises(Conflict) as refused:
        world.service.indices.drop(GOVERNOR, key.build_id)
    assert refused.value.code == "index-in-use"


def test_a_build_that_was_given_up_while_it_ran_is_not_served(world: RebuildWorld) -> None:
    fill(world)
    old = world.served_name()
    key = world.begin()
    world.interrupter.moment = 20
    world.interrupter.act = lambda: world.service.indices.drop(GOVERNOR, key.build_id)
    with pytest.raises(Unavailable):
        world.run(key)
    world.work()
    assert world.build(key).state is BuildState.ABANDONED
    assert world.served_name() == old
    assert len(world.index.generations(ACME)) == 1
