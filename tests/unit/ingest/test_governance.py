"""Keys, policies, sources and access: taken away at the next read, and by those who may."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from custody.application.governance.access_cut import CutRequest
from custody.application.governance.active_policies import ActivePolicies
from custody.application.governance.key_registry import KeyRequest
from custody.application.governance.policy_registry import StoredPolicy
from custody.application.governance.source_registry import SourceStateRequest
from custody.domain.ledger.trust_changes import TrustAction
from custody.domain.model import (
    PUBLIC_TENANT,
    KeyState,
    Objection,
    PolicyRef,
    Principal,
    Scope,
    SourceKey,
    SourceState,
)
from custody.errors import (
    Conflict,
    Forbidden,
    NotFound,
    PreconditionFailed,
    Unauthenticated,
    Unavailable,
    Unprocessable,
)
from tests.support.governed import OPERATOR, packaged_gate
from tests.support.ingest_world import GOVERNOR, READER, TENANT, WRITER, World, principal, request

WIKI = SourceKey(TENANT, "wiki")
WHY = SourceStateRequest("wiki", "a leak")
OTHER = principal("gov", tenant="globex")


@pytest.fixture
def world() -> World:
    world = World()
    world.source()
    world.post_document(WRITER, request(text="text"))
    return world


def objections(world: World) -> set[Objection | None]:
    """What stands against each chunk that the index proposes."""
    entries = world.index.visible()
    view = world.ledger.view(TENANT, READER.subject, {entry.key for entry in entries}, {WIKI})
    found = world.check(entries, view, READER, now=world.clock.now())
    return {finding.reason for finding in found}


class TestSources:
    def test_nothing_of_a_quarantined_source_is_served_until_it_is_released(
        self, world: World
    ) -> None:
        assert world.texts() == {"text"}
        held = world.sources.quarantine(GOVERNOR, WHY)
        assert (held.state, held.revision) == (SourceState.QUARANTINED, 2)
        assert world.texts() == set()
        with pytest.raises(Conflict) as refused:
            world.post_document(WRITER, request(text="more"))
        assert refused.value.code == "source-quarantined"
        assert world.sources.quarantine(GOVERNOR, WHY) == held
        free = world.sources.release(GOVERNOR, SourceStateRequest("wiki"))
        assert (free.state, free.revision) == (SourceState.ACTIVE, 3)
        assert world.texts() == {"text"}
        kept = [(c.state, c.by, c.reason) for c in world.ledger.source_changes(WIKI)]
        assert kept == [
            (SourceState.ACTIVE, "gov", None),
            (SourceState.QUARANTINED, "gov", "a leak"),
            (SourceState.ACTIVE, "gov", None),
        ]

    def test_only_governors_of_its_tenant_may(self, world: World) -> None:
        for caller in (WRITER, READER):
            with pytest.raises(Forbidden):
                world.sources.quarantine(caller, WHY)
            with pytest.raises(Forbidden):
                world.sources.release(caller, WHY)
        with pytest.raises(NotFound):
            world.sources.quarantine(OTHER, WHY)
        assert world.texts() == {"text"}

    def test_a_source_that_was_given_up_stays_so(self, world: World) -> None:
        stored = world.ledger.source(WIKI)
        assert stored is not None
        world.ledger.put_source(replace(stored, state=SourceState.RETIRED), expected_revision=1)
        for change in (world.sources.quarantine, world.sources.release):
            with pytest.raises(Conflict) as refused:
                change(GOVERNOR, WHY)
            assert refused.value.code == "source-retired"

    def test_if_match_guards_it(self, world: World) -> None:
        with pytest.raises(PreconditionFailed):
            world.sources.quarantine(GOVERNOR, replace(WHY, if_match=7))
        assert world.sources.quarantine(GOVERNOR, replace(WHY, if_match=1)).revision == 2

    @pytest.mark.parametrize("reason", ["", " ", "a\x00b", "x" * 1001])
    def test_a_bad_reason_changes_nothing(self, world: World, reason: str) -> None:
        with pytest.raises(Unprocessable):
            world.sources.quarantine(GOVERNOR, replace(WHY, reason=reason))
        assert world.texts() == {"text"}


class TestKeys:
    def keyid(self, world: World) -> str:
        return world.signer.verification_key().keyid

    @pytest.mark.parametrize("act", ["retire", "revoke"])
    def test_what_a_key_signed_is_not_served_from_the_next_read_on(
        self, world: World, act: str
    ) -> None:
        wanted = KeyRequest(self.keyid(world), "leaked", force=True)
        done = getattr(world.service.keys, act)(OPERATOR, wanted)
        retired = act == "retire"
        assert done.state is (KeyState.RETIRED if retired else KeyState.REVOKED)
        assert objections(world) == {Objection.KEY_RETIRED if retired else Objection.KEY_REVOKED}
        (kept,) = world.ledger.trust_changes(None, f"key/{wanted.keyid}")
        assert (kept.by, kept.reason) == ("op", "leaked")
        listed = {key.keyid: key.state for key in world.service.keys.list_keys(GOVERNOR)}
        assert listed[wanted.keyid] is done.state

    def test_a_revocation_is_final_and_a_retirement_is_not(self, world: World) -> None:
        wanted = KeyRequest(self.keyid(world), "leaked", force=True)
        world.service.keys.retire(OPERATOR, wanted)
        world.service.keys.revoke(OPERATOR, wanted)
        with pytest.raises(Conflict) as refused:
            world.service.keys.retire(OPERATOR, wanted)
        assert refused.value.code == "key-revoked"

    def test_the_last_key_of_a_purpose_goes_only_by_force(self, world: World) -> None:
        wanted = KeyRequest(self.keyid(world), "leaked")
        with pytest.raises(Conflict) as refused:
            world.service.keys.revoke(OPERATOR, wanted)
        assert refused.value.code == "last-active-key"
        assert world.texts() == {"text"}
        spare = replace(world.signer.verification_key(), keyid="f" * 64)
        world.ledger.put_key(replace(spare, purpose="policy"))
        with pytest.raises(Conflict):
            world.service.keys.revoke(OPERATOR, wanted)
        world.ledger.put_key(spare)
        world.service.keys.revoke(OPERATOR, wanted)
        assert objections(world) == {Objection.KEY_REVOKED}

    def test_only_the_operators_may_and_tenants_look(self, world: World) -> None:
        wanted = KeyRequest(self.keyid(world), "leaked", force=True)
        for caller in (GOVERNOR, OTHER, WRITER):
            with pytest.raises(Forbidden):
                world.service.keys.revoke(caller, wanted)
        writer_of_public = principal("w", tenant=PUBLIC_TENANT, scopes=frozenset({Scope.WRITE}))
        with pytest.raises(Forbidden):
            world.service.keys.revoke(writer_of_public, wanted)
        with pytest.raises(Forbidden):
            world.service.keys.list_keys(WRITER)
        auditor = principal("a", scopes=frozenset({Scope.AUDIT}))
        assert len(world.service.keys.list_keys(auditor)) == 2
        assert world.texts() == {"text"}

    def test_an_unknown_key_is_not_found(self, world: World) -> None:
        with pytest.raises(NotFound) as missing:
            world.service.keys.revoke(OPERATOR, KeyRequest("0" * 64, "leaked"))
        assert missing.value.code == "key-not-found"


class TestCuts:
    def test_tokens_that_were_issued_before_are_void_at_the_next_read(self, world: World) -> None:
        cut = world.service.cut_access(GOVERNOR, CutRequest("ann", "left"))
        with pytest.raises(Unauthenticated) as void:
            world.documents.show(READER, "guide")
        assert void.value.code == "token-revoked"
        later = replace(READER, issued_at=cut.not_before + timedelta(seconds=1))
        assert world.documents.show(later, "guide").head.version == 1
        (kept,) = world.ledger.trust_changes(TENANT, "principal/ann")
        assert (kept.action, kept.by, kept.reason) == (TrustAction.CUT, "gov", "left")

    def test_a_cut_is_never_taken_back(self, world: World) -> None:
        first = world.service.cut_access(GOVERNOR, CutRequest("ann", "left"))
        earlier = first.not_before - timedelta(hours=1)
        again = world.service.cut_access(GOVERNOR, CutRequest("ann", "oops", earlier))
        assert again.not_before == first.not_before

    def test_it_holds_in_the_governors_tenant_alone(self, world: World) -> None:
        world.service.cut_access(OTHER, CutRequest("ann", "left"))
        assert world.documents.show(READER, "guide").head.version == 1

    def test_not_by_others_and_not_ahead(self, world: World) -> None:
        with pytest.raises(Forbidden):
            world.service.cut_access(WRITER, CutRequest("ann", "left"))
        ahead = world.clock.time + timedelta(days=1)
        with pytest.raises(Unprocessable) as refused:
            world.service.cut_access(GOVERNOR, CutRequest("ann", "left", ahead))
        assert refused.value.field == "not_before"
        assert world.documents.show(READER, "guide").head.version == 1

    def test_who_was_cut_may_not_cut_others(self, world: World) -> None:
        world.service.cut_access(GOVERNOR, CutRequest("gov", "left"))
        with pytest.raises(Unauthenticated):
            world.service.cut_access(GOVERNOR, CutRequest("ann", "left"))


class TestPolicies:
    def sign(self, world: World, version: str, caller: Principal = OPERATOR) -> StoredPolicy:
        return world.service.policies.sign(caller, "gate", packaged_gate(version=version))

    def activate(self, world: World, version: str, caller: Principal = OPERATOR) -> StoredPolicy:
        digest = self.sign(world, version, caller).ref.digest
        return world.service.policies.activate(caller, "gate", digest)

    def in_force(self, world: World, tenant: str = TENANT) -> str:
        ports = world.service._ports
        active = ActivePolicies(ports.policies, ports.verifier)
        return active.gate(world.ledger.control(tenant))[0].version

    def test_signing_puts_nothing_in_force(self, world: World) -> None:
        self.activate(world, "1.0.0")
        signed = self.sign(world, "2.0.0")
        assert (signed.since, signed.own) == (None, False)
        assert signed.envelope.keyid == world.policy_signer.verification_key().keyid
        assert self.in_force(world) == "1.0.0"

    def test_an_activated_policy_is_in_force_at_the_next_read(self, world: World) -> None:
        self.activate(world, "1.0.0")
        done = self.activate(world, "2.0.0")
        assert self.in_force(world) == "2.0.0"
        shown = world.service.policies.show(GOVERNOR, "gate")
        assert (shown.ref, shown.own, shown.since) == (done.ref, False, done.since)
        again = world.service.policies.activate(OPERATOR, "gate", done.ref.digest)
        assert again == done
        history = world.service.policies.history(OPERATOR, "gate")
        assert [change.policy.version for change in history if change.policy] == ["2.0.0", "1.0.0"]

    def test_a_tenants_own_goes_before_and_is_nobody_elses(self, world: World) -> None:
        self.activate(world, "1.0.0")
        assert self.activate(world, "3.0.0", GOVERNOR).own
        assert self.in_force(world) == "3.0.0"
        assert self.in_force(world, "globex") == "1.0.0"
        assert world.service.policies.history(OTHER, "gate") == ()

    def test_rolling_back_goes_from_one_to_the_one_before_it(self, world: World) -> None:
        for version in ("1.0.0", "2.0.0", "3.0.0"):
            self.activate(world, version)
        roll_back = world.service.policies.roll_back
        assert roll_back(OPERATOR, "gate").ref.version == "2.0.0"
        assert roll_back(OPERATOR, "gate").ref.version == "1.0.0"
        with pytest.raises(Conflict) as refused:
            roll_back(OPERATOR, "gate")
        assert refused.value.code == "no-earlier-policy"
        self.activate(world, "4.0.0")
        assert roll_back(OPERATOR, "gate").ref.version == self.in_force(world) == "1.0.0"

    def test_a_tenants_first_one_gives_way_to_the_services_default(self, world: World) -> None:
        self.activate(world, "1.0.0")
        with pytest.raises(Conflict):
            world.service.policies.roll_back(GOVERNOR, "gate")
        self.activate(world, "3.0.0", GOVERNOR)
        back = world.service.policies.roll_back(GOVERNOR, "gate")
        assert (back.ref.version, back.own) == ("1.0.0", False)
        assert self.in_force(world) == "1.0.0"

    def test_what_could_not_be_used_is_not_put_in_force(self, world: World) -> None:
        waiting = self.sign(world, "2.0.0")
        self.activate(world, "1.0.0")
        key = world.policy_signer.verification_key()
        now = world.clock.time
        for changed in (
            {"state": KeyState.RETIRED},
            {"not_before": now + timedelta(days=1)},
            {"not_after": now},
        ):
            changes: dict[str, Any] = changed
            world.ledger.put_key(replace(key, **changes))
            with pytest.raises(Conflict) as refused:
                world.service.policies.activate(OPERATOR, "gate", waiting.ref.digest)
            assert refused.value.code == "policy-unusable"
            with pytest.raises(Conflict):
                self.sign(world, "2.0.0")
            world.ledger.put_key(key)
        assert self.in_force(world) == "1.0.0"

    def test_a_policy_that_came_into_force_outside_its_keys_window_is_refused_when_read(
        self, world: World
    ) -> None:
        done = self.activate(world, "1.0.0")
        assert done.since is not None
        key = world.policy_signer.verification_key()
        world.ledger.put_key(replace(key, not_after=done.since))
        with pytest.raises(Unavailable) as refused:
            self.in_force(world)
        assert refused.value.code == "policy-unavailable"
        world.ledger.put_key(replace(key, not_after=done.since + timedelta(seconds=1)))
        assert self.in_force(world) == "1.0.0"

    def test_who_may(self, world: World) -> None:
        waiting = self.sign(world, "1.0.0").ref.digest
        auditor = principal("a", scopes=frozenset({Scope.AUDIT}))
        policies = world.service.policies
        for caller in (WRITER, auditor):
            with pytest.raises(Forbidden):
                policies.sign(caller, "gate", packaged_gate())
            with pytest.raises(Forbidden):
                policies.activate(caller, "gate", waiting)
            with pytest.raises(Forbidden):
                policies.roll_back(caller, "gate")
        with pytest.raises(Forbidden):
            policies.show(WRITER, "gate")
        policies.activate(OPERATOR, "gate", waiting)
        assert policies.show(auditor, "gate").ref.digest == waiting

    def test_a_digest_of_another_kind_or_of_nothing_is_not_found(self, world: World) -> None:
        gate = self.sign(world, "1.0.0").ref.digest
        for name, digest in (("reputation", gate), ("gate", "0" * 64), ("weather", gate)):
            with pytest.raises(NotFound) as missing:
                world.service.policies.activate(OPERATOR, name, digest)
            assert missing.value.code == "policy-not-found"
        assert world.ledger.control(TENANT).policies == {}

    def test_a_rollback_that_lost_a_race_is_decided_anew(self, world: World) -> None:
        for version in ("1.0.0", "2.0.0"):
            self.activate(world, version)
        real, other = world.ledger.trust_changes, self.sign(world, "3.0.0").ref

        def overtaken(tenant: str | None, about: str) -> object:
            found = real(tenant, about)
            world.ledger.trust_changes = real  # type: ignore[method-assign]  # once
            world.service.policies.activate(OPERATOR, "gate", other.digest)
            return found

        world.ledger.trust_changes = overtaken  # type: ignore[method-assign,assignment]
        assert world.service.policies.roll_back(OPERATOR, "gate").ref.version == "2.0.0"
        assert isinstance(other, PolicyRef)
