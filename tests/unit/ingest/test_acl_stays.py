"""An ACL that somebody gave a document stays until another is given, and none is wider than its source
allows now."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from custody.application.ingestion.change_acl import AclRequest
from custody.domain.ledger.drops import DropState
from custody.domain.model import Acl, DocumentKey, SourceKey
from custody.domain.provenance.identifiers import drop_document_id
from custody.errors import Conflict
from tests.support.ingest_world import TENANT, WRITER, World, principal, request

WIKI = SourceKey(TENANT, "wiki")
BOB = principal("bob")
NARROW = AclRequest("guide", ("user:bob",))
FILE = DocumentKey(TENANT, drop_document_id("wiki", "a.txt"))
SIDECAR = "a.txt.metadata.json"


@pytest.fixture
def world() -> World:
    world = World()
    world.source(default_acl=("group:staff", "user:bob"))
    return world


def sidecar(**attributes: object) -> bytes:
    return json.dumps({"metadataAttributes": attributes}).encode()


def acl_of(world: World, key: DocumentKey) -> Acl:
    head = world.ledger.head(key)
    assert head is not None
    return head.narrowed_to or head.acl


class TestPosted:
    KEY = DocumentKey(TENANT, "guide")

    @pytest.mark.parametrize("text", ["same", "other"])
    def test_a_version_without_an_acl_keeps_the_one_that_was_given(
        self, world: World, text: str
    ) -> None:
        world.post_document(WRITER, request(text="same"))
        world.change_acl(WRITER, NARROW)
        done = world.post_document(WRITER, request(text=text))
        assert done.unchanged is (text == "same")
        world.work()
        assert acl_of(world, self.KEY) == Acl.of("user:bob")
        assert world.texts() == set()
        assert world.texts(BOB) == {text}

    def test_it_stays_over_many_versions_and_another_change(self, world: World) -> None:
        world.post_document(WRITER, request(text="1"))
        world.change_acl(WRITER, NARROW)
        for text in ("2", "3"):
            world.post_document(WRITER, request(text=text))
        world.work()
        assert world.texts() == set()
        world.change_acl(WRITER, AclRequest("guide", ("group:staff",)))
        world.post_document(WRITER, request(text="4"))
        assert world.texts() == {"4"}
        assert world.texts(BOB) == set()

    def test_one_that_a_version_brings_takes_its_place(self, world: World) -> None:
        world.post_document(WRITER, request(text="1"))
        world.change_acl(WRITER, NARROW)
        world.post_document(WRITER, request(text="2", acl=("group:staff",)))
        assert world.texts() == {"2"}
        world.post_document(WRITER, request(text="3"))
        assert acl_of(world, self.KEY) == Acl.of("group:staff", "user:bob")

    def test_one_given_while_a_version_is_on_its_way_stays(self, world: World) -> None:
        world.post_document(WRITER, request(text="1"))
        wait, world.while_waiting = world.while_waiting, lambda: None
        world.post_document(WRITER, request(text="2", acl=("group:staff",)))
        world.change_acl(WRITER, NARROW)
        world.while_waiting = wait
        world.work()
        world.post_document(WRITER, request(text="3"))
        assert world.texts() == set()
        assert world.texts(BOB) == {"3"}

    def test_an_erased_document_begins_anew(self, world: World) -> None:
        world.post_document(WRITER, request(text="1"))
        world.change_acl(WRITER, NARROW)
        head = world.ledger.head(self.KEY)
        assert head is not None
        world.service.erasures.tombstone.place(head, reason="asked", requested_by="ci")
        world.work()
        world.post_document(WRITER, request(text="2"))
        assert world.texts() == {"2"}


class TestDropped:
    def narrow(self, world: World) -> None:
        world.change_acl(WRITER, replace(NARROW, document_id=FILE.document_id))
        world.work()

    @pytest.mark.parametrize("text", [b"same", b"other"])
    def test_a_file_dropped_again_keeps_the_acl_that_was_given(
        self, world: World, text: bytes
    ) -> None:
        world.deliver(world.drop("a.txt", b"same"))
        self.narrow(world)
        world.clock.sleep(5)
        world.deliver(world.drop("a.txt", text))
        assert world.texts() == set()
        assert world.texts(BOB) == {text.decode()}

    def test_a_sidecar_from_before_gives_no_acl_again(self, world: World) -> None:
        world.drop(SIDECAR, sidecar(acl=["group:staff"]))
        world.deliver(world.drop("a.txt", b"one"))
        assert world.texts() == {"one"}
        world.clock.sleep(5)
        self.narrow(world)
        world.clock.sleep(5)
        world.deliver(world.drop("a.txt", b"two"))
        assert acl_of(world, FILE) == Acl.of("user:bob")

    def test_a_sidecar_that_comes_later_gives_one(self, world: World) -> None:
        world.deliver(world.drop("a.txt", b"one"))
        self.narrow(world)
        world.clock.sleep(5)
        world.deliver(world.drop(SIDECAR, sidecar(acl=["group:staff"])))
        assert acl_of(world, FILE) == Acl.of("group:staff")

    def test_a_sidecar_that_comes_later_without_an_acl_gives_none(self, world: World) -> None:
        world.deliver(world.drop("a.txt", b"one"))
        self.narrow(world)
        world.clock.sleep(5)
        world.deliver(world.drop(SIDECAR, sidecar(title="T")))
        assert acl_of(world, FILE) == Acl.of("user:bob")

    def test_a_document_that_was_withdrawn_is_not_opened_by_a_change_of_its_acl(
        self, world: World
    ) -> None:
        world.deliver(world.drop("a.txt", b"one"))
        self.narrow(world)
        world.clock.sleep(5)
        world.deliver(world.drop(SIDECAR, sidecar(trust_domain="board")))
        drop = world.ledger.drop(WIKI, "a.txt")
        assert drop is not None
        assert drop.state is DropState.REJECTED
        with pytest.raises(Conflict) as refused:
            self.narrow(world)
        assert refused.value.code == "document-withdrawn"
        shown = world.documents.show(WRITER, FILE.document_id)
        assert (shown.withheld,) == drop.reasons
        assert world.texts(BOB) == set()
        world.deliver(world.drop(SIDECAR, sidecar(title="T")))
        assert world.texts(BOB) == {"one"}
        assert world.texts() == set()
        self.narrow(world)


def test_a_max_acl_that_is_tightened_binds_what_is_published_and_on_its_way(
    world: World,
) -> None:
    world.post_document(WRITER, request(text="published"))
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(document_id="other", text="on its way"))
    world.source(default_acl=("user:bob",), max_acl=("user:bob",))
    world.work()
    assert world.texts() == set()
    assert world.texts(BOB) == {"published", "on its way"}
    world.source(default_acl=("group:staff", "user:bob"))
    assert world.texts() == {"published", "on its way"}


def test_a_tenant_wide_max_acl_lets_in_who_the_document_lets_in(world: World) -> None:
    world.source(default_acl=("group:staff",), max_acl=(f"tenant:{TENANT}",))
    world.post_document(WRITER, request(text="text"))
    assert world.texts() == {"text"}
    assert world.texts(BOB) == set()
