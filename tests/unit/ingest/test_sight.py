"""Who is shown what of a document, beside what a search serves: one check, one time, no names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from custody.application.erasure.request import ErasureRequest
from custody.application.governance.source_registry import SourceRequest
from custody.application.ingestion.change_acl import AclRequest
from custody.domain.model import Acl, DocumentKey, Head, Principal, Scope, SourceKey, SourceState
from custody.errors import CustodyError, Forbidden, NotFound, Unprocessable
from tests.support.ingest_world import (
    GOVERNOR,
    READER,
    STRANGER,
    TENANT,
    WRITER,
    World,
    request,
)

KEY = DocumentKey(TENANT, "guide")
WIKI = SourceKey(TENANT, "wiki")
EVERY_SCOPE = frozenset({Scope.READ, Scope.WRITE, Scope.ERASE})


@pytest.fixture
def world() -> World:
    made = World()
    made.source(default_acl=("group:staff", "user:bob"))
    made.post_document(WRITER, request())
    return made


def change(world: World, **changes: Any) -> None:
    """Behind the statement's back, as who may write the ledger could."""
    world.ledger._heads[KEY] = replace(world.ledger._heads[KEY], **changes)


def widened(world: World) -> None:
    change(world, acl=Acl.of("everyone", "group:staff"))


def without_statement(world: World) -> None:
    change(world, envelope=None)


def not_yet_valid(world: World) -> None:
    change(world, valid_from=world.clock.now() + timedelta(days=1))


def expired(world: World) -> None:
    change(world, valid_to=world.clock.now())


def quarantined(world: World) -> None:
    owner = world.ledger._sources[WIKI]
    world.ledger._sources[WIKI] = replace(owner, state=SourceState.QUARANTINED)


WITHHELD: dict[Callable[[World], None], str] = {
    widened: "statement-mismatch",
    without_statement: "statement-missing",
    not_yet_valid: "not-yet-valid",
    expired: "expired",
    quarantined: "untrusted-source",
}


def listed(world: World, who: Principal) -> list[Head]:
    page = world.documents.list_documents(
        who, source_id=None, state=None, name=None, limit=100, cursor=None
    )
    return list(page.items)


@pytest.mark.parametrize("withhold", WITHHELD)
def test_what_no_search_would_serve_is_no_document_to_a_reader(
    world: World, withhold: Callable[[World], None]
) -> None:
    assert len(listed(world, READER)) == 1
    world.documents.show(READER, "guide")
    world.documents.provenance(READER, "guide", None)
    withhold(world)
    assert listed(world, READER) == []
    for look in (
        lambda: world.documents.show(READER, "guide"),
        lambda: world.documents.provenance(READER, "guide", None),
    ):
        with pytest.raises(NotFound):
            look()


@pytest.mark.parametrize("withhold", WITHHELD)
def test_who_can_mend_it_sees_it_and_is_told_why(
    world: World, withhold: Callable[[World], None]
) -> None:
    of_staff = replace(WRITER, groups=frozenset({"staff"}))
    assert world.documents.show(of_staff, "guide").withheld is None
    withhold(world)
    assert len(listed(world, of_staff)) == 1
    assert world.documents.show(of_staff, "guide").withheld == WITHHELD[withhold]
    assert world.documents.show(GOVERNOR, "guide").withheld is not None


def calls(world: World, act: Callable[[], object]) -> tuple[list[str], str]:
    """What it asks of the ledger until it knows who asks, and how it ends."""
    asked: list[str] = []
    view = world.ledger.view

    def counted(*arguments: Any) -> Any:
        asked.append("view")
        return view(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.ledger, "view", counted)
        try:
            act()
            end = "done"
        except CustodyError as refusal:
            end = refusal.code
    return asked, end


ACTS: dict[str, Callable[[World, Principal, str], object]] = {
    "show": lambda world, who, name: world.documents.show(who, name),
    "provenance": lambda world, who, name: world.documents.provenance(who, name, None),
    "acl": lambda world, who, name: world.change_acl(who, AclRequest(name, ("group:staff",))),
    "erase": lambda world, who, name: world.erasures.request(who, ErasureRequest(name, "r")),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_is_forbidden_takes_the_reads_of_what_does_not_exist(world: World, act: str) -> None:
    who = replace(STRANGER, scopes=EVERY_SCOPE)
    forbidden = calls(world, lambda: ACTS[act](world, who, "guide"))
    absent = calls(world, lambda: ACTS[act](world, who, "none"))
    assert forbidden == absent == (["view", "view"], "not-found")
    change(world, version=0)
    assert calls(world, lambda: ACTS[act](world, who, "guide")) == absent


def test_a_reader_is_told_of_an_acl_what_opens_the_document_to_them(world: World) -> None:
    shown = world.documents.show(READER, "guide")
    assert shown.head.acl == Acl.of("group:staff")
    assert [record.connector for record in shown.versions] == ["api"]
    assert listed(world, READER)[0].acl == Acl.of("group:staff")
    change(world, narrowed_to=Acl.of("group:staff"))
    assert world.documents.show(READER, "guide").head.narrowed_to is None
    for who in (WRITER, GOVERNOR):
        shown = world.documents.show(who, "guide")
        assert shown.head.acl == Acl.of("group:staff", "user:bob")
        assert shown.head.narrowed_to == Acl.of("group:staff")
        assert [record.connector for record in shown.versions] == ["api:ci"]
        assert listed(world, who)[0].acl == Acl.of("group:staff", "user:bob")


class TestPublicDocuments:
    """They are of the tenant ``public``: whoever governs another one is a reader like any."""

    @pytest.fixture
    def world(self) -> World:
        made = World()
        operator = replace(GOVERNOR, tenant="public")
        made.sources.put(
            operator,
            SourceRequest("law", trust_domain="internal", writers=("user:gov",),
                          default_acl=("everyone",)),
        )  # fmt: skip
        made.post_document(operator, replace(request(), source_id="law"))
        return made

    def test_a_governor_of_another_tenant_reads_it_as_a_reader(self, world: World) -> None:
        shown = world.documents.show(GOVERNOR, "guide")
        assert shown.head.key == DocumentKey("public", "guide")
        assert [record.connector for record in shown.versions] == ["api"]
        world.post_document(
            replace(GOVERNOR, tenant="public"),
            replace(request(text="second"), source_id="law"),
        )
        assert len(world.documents.show(GOVERNOR, "guide").versions) == 1
        with pytest.raises(NotFound):
            world.documents.provenance(GOVERNOR, "guide", 1)

    def test_nor_does_it_erase_or_permit(self, world: World) -> None:
        for act in (
            lambda: world.erasures.request(GOVERNOR, ErasureRequest("guide", "r")),
            lambda: world.change_acl(GOVERNOR, AclRequest("guide", ("everyone",))),
        ):
            with pytest.raises(Forbidden):
                act()
        assert world.ledger.head(DocumentKey("public", "guide")) is not None
        assert len(world.documents.show(READER, "guide").versions) == 1

    def test_it_is_for_everyone_and_nobody_less(self, world: World) -> None:
        operator = replace(GOVERNOR, tenant="public")
        with pytest.raises(Unprocessable):
            world.change_acl(operator, AclRequest("guide", ("user:ann",)))
        with pytest.raises(Unprocessable):
            world.post_document(
                operator, replace(request("other"), source_id="law", acl=("user:ann",))
            )

    @pytest.mark.parametrize(
        ("tenant", "code"), [(TENANT, "source-not-found"), ("public", "not-a-writer")]
    )
    def test_only_its_governors_write_there(self, world: World, tenant: str, code: str) -> None:
        writer = replace(GOVERNOR, tenant=tenant, scopes=EVERY_SCOPE)
        with pytest.raises(CustodyError) as refused:
            world.post_document(writer, replace(request("other"), source_id="law"))
        assert refused.value.code == code


def test_a_writer_finds_nothing_that_the_acl_denies_them(world: World) -> None:
    """To look after a document is not to be shown it as evidence."""
    assert world.served(WRITER) == set()
    assert world.documents.show(WRITER, "guide").withheld == "acl-denied"
    assert world.served(READER) != set()
