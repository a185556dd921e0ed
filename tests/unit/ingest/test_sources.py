"""Sources: what a governor may register, and what replacing one leaves alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from custody.application.callers import listing
from custody.application.governance.source_registry import SourceRequest
from custody.domain.intake.validation import ANY_REVISION
from custody.domain.ledger.sources import is_writer, within
from custody.domain.model import Acl, Scope, Source, SourceKey, SourceState
from custody.errors import (
    BadRequest,
    CustodyError,
    Forbidden,
    IntegrityError,
    PreconditionFailed,
    Unprocessable,
)
from tests.support.ingest_world import GOVERNOR, TENANT, WRITER, World, principal, request

WIKI = SourceKey(TENANT, "wiki")
REQUEST = SourceRequest("wiki", "internal", ("user:ci",), default_acl=("group:staff",))


@pytest.fixture
def world() -> World:
    return World()


def test_replacing_keeps_the_state_the_watermark_and_the_creation_time(world: World) -> None:
    first = world.sources.put(GOVERNOR, REQUEST)
    assert first.created
    watermark = datetime(2026, 2, 1, tzinfo=UTC)
    world.ledger.put_source(
        replace(first.source, state=SourceState.QUARANTINED, erased_through=watermark),
        expected_revision=1,
    )
    again = world.sources.put(GOVERNOR, replace(REQUEST, trust_domain="board"))
    assert not again.created
    source = again.source
    assert (source.state, source.erased_through) == (SourceState.QUARANTINED, watermark)
    assert (source.trust_domain, source.created_at) == ("board", first.source.created_at)
    assert source.revision == 3


def test_a_write_that_loses_a_race_is_tried_on_what_won(world: World) -> None:
    world.sources.put(GOVERNOR, REQUEST)
    real = world.ledger.put_source
    tries: list[Source] = []

    def contended(
        source: Source,
        *,
        expected_revision: int | None,
        by: str | None = None,
        reason: str | None = None,
    ) -> Source:
        tries.append(source)
        if len(tries) == 1:
            stored = world.ledger.source(WIKI)
            assert stored is not None
            real(replace(stored, state=SourceState.RETIRED), expected_revision=stored.revision)
        return real(source, expected_revision=expected_revision, by=by, reason=reason)

    world.ledger.put_source = contended  # type: ignore[method-assign]  # loses a race
    done = world.sources.put(GOVERNOR, replace(REQUEST, trust_domain="board"))
    assert (done.source.state, done.source.trust_domain) == (SourceState.RETIRED, "board")


def test_if_match_of_any_revision_replaces_only(world: World) -> None:
    with pytest.raises(PreconditionFailed):
        world.sources.put(GOVERNOR, replace(REQUEST, if_match=ANY_REVISION))
    world.sources.put(GOVERNOR, REQUEST)
    assert not world.sources.put(GOVERNOR, replace(REQUEST, if_match=ANY_REVISION)).created


def test_if_match_zero_creates_only(world: World) -> None:
    world.sources.put(GOVERNOR, replace(REQUEST, if_match=0))
    with pytest.raises(PreconditionFailed):
        world.sources.put(GOVERNOR, replace(REQUEST, if_match=0))


def test_only_governors_write_and_only_overseers_list(world: World) -> None:
    with pytest.raises(Forbidden):
        world.sources.put(WRITER, REQUEST)
    with pytest.raises(Forbidden):
        world.sources.list_sources(WRITER, limit=10, cursor=None)
    world.sources.put(GOVERNOR, REQUEST)
    other = principal("gov", tenant="other")
    assert world.sources.list_sources(other, limit=10, cursor=None).items == ()
    auditor = principal("aud", scopes=frozenset({Scope.AUDIT}))
    assert len(world.sources.list_sources(auditor, limit=10, cursor=None).items) == 1


def test_a_cursor_is_bound_to_kind_caller_and_filters() -> None:
    ana, bob = principal("ana"), principal("bob")
    elsewhere = principal("ana", tenant="other")
    bound = [
        listing(ana, "sources"),
        listing(ana, "documents"),
        listing(ana, "documents", None),
        listing(ana, "documents", "wiki"),
        listing(bob, "sources"),
        listing(elsewhere, "sources"),
    ]
    assert len(set(bound)) == len(bound)
    assert listing(ana, "sources") == listing(principal("ana"), "sources")


def test_a_cursor_leads_on_in_its_callers_own_list_of_sources_only(world: World) -> None:
    for number in range(3):
        world.source(f"s{number}")
        world.post_document(WRITER, request(f"d{number}", source_id=f"s{number}"))
    first = world.sources.list_sources(GOVERNOR, limit=2, cursor=None)
    rest = world.sources.list_sources(GOVERNOR, limit=2, cursor=first.next)
    assert [source.key.source_id for page in (first, rest) for source in page.items] == [
        "s0", "s1", "s2",
    ]  # fmt: skip
    listed = {"source_id": None, "state": None, "name": None, "limit": 1}
    of_documents = world.documents.list_documents(GOVERNOR, **listed, cursor=None)  # type: ignore[arg-type]  # as many types as fields
    assert of_documents.next is not None
    auditor = principal("aud", scopes=frozenset({Scope.AUDIT}))
    for caller, cursor in (
        (auditor, first.next),
        (principal(GOVERNOR.subject, tenant="other"), first.next),
        (GOVERNOR, of_documents.next),
        (GOVERNOR, "s1"),
    ):
        with pytest.raises(BadRequest) as refused:
            world.sources.list_sources(caller, limit=2, cursor=cursor)
        assert refused.value.code == "invalid-cursor"


@pytest.mark.parametrize(
    "bad",
    [
        {"source_id": ""},
        {"source_id": "a/b"},
        {"source_id": "a:b"},
        {"source_id": "x" * 65},
        {"trust_domain": ""},
        {"trust_domain": "a\nb"},
        {"writers": ()},
        {"writers": ("ci",)},
        {"writers": ("group:",)},
        {"writers": ("tenant:other",)},
        {"writers": tuple(f"user:{n}" for n in range(201))},
        {"default_acl": ()},
        {"max_acl": ("user:bob",)},
        {"isolation": "index"},
        {"isolation": ""},
        {"licence": ""},
        {"retention_class": "x" * 257},
    ],
)
def test_a_bad_source_is_refused_whole(world: World, bad: dict[str, Any]) -> None:
    with pytest.raises(CustodyError) as caught:
        world.sources.put(GOVERNOR, replace(REQUEST, **bad))
    assert caught.value.status == 422
    assert world.sources.list_sources(GOVERNOR, limit=10, cursor=None).items == ()


def test_a_public_source_is_open_to_everyone_or_to_nobody(world: World) -> None:
    public = principal("gov", tenant="public")
    request = replace(REQUEST, writers=("user:gov",), default_acl=("everyone",))
    source = world.sources.put(public, request).source
    assert is_writer(public, source)
    assert not is_writer(replace(public, scopes=frozenset({Scope.WRITE})), source)
    assert not is_writer(principal("gov"), source)
    with pytest.raises(Unprocessable):
        world.sources.put(public, replace(request, default_acl=("user:gov",)))


@pytest.mark.parametrize(
    ("acl", "limit", "fits"),
    [
        (("user:a",), ("user:a", "user:b"), True),
        (("user:a", "user:c"), ("user:a", "user:b"), False),
        (("user:a",), ("everyone",), True),
        (("everyone",), ("everyone",), True),
        (("everyone",), (f"tenant:{TENANT}",), False),
        (("user:a", "group:g"), (f"tenant:{TENANT}",), True),
        (("user:a",), ("tenant:other",), False),
        ((), ("user:a",), True),
    ],
)
def test_narrower_means_that_nobody_is_added(
    acl: tuple[str, ...], limit: tuple[str, ...], fits: bool
) -> None:
    assert within(Acl.of(*acl), Acl.of(*limit), tenant=TENANT) is fits


def test_who_changed_a_source_is_kept(world: World) -> None:
    world.sources.put(GOVERNOR, REQUEST)
    world.sources.put(GOVERNOR, replace(REQUEST, trust_domain="board"))
    kept = world.ledger.source_changes(WIKI)
    assert [(change.revision, change.trust_domain, change.by) for change in kept] == [
        (1, REQUEST.trust_domain, GOVERNOR.subject),
        (2, "board", GOVERNOR.subject),
    ]


def test_a_source_without_a_time_keeps_no_change(world: World) -> None:
    undated = Source(WIKI, "official", ("user:ann",))
    with pytest.raises(IntegrityError) as refused:
        world.ledger.put_source(undated, expected_revision=0)
    assert refused.value.code == "source-undated"
    assert world.ledger.source(WIKI) is None
