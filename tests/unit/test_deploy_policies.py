from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.adapters.packaged_policies import packaged_policies
from custody.application.governance.active_policies import (
    POLICY_PAYLOAD_TYPE,
    ActivePolicies,
    policy_digest,
)
from custody.application.governance.deploy_policies import DeployPolicies
from custody.domain.ledger.trust_changes import TrustAction, TrustChange
from custody.domain.model import Control, KeyState, PolicyRef
from custody.domain.provenance.canonical import canonical_json, parse_json
from custody.errors import IntegrityError, NoControlItem, Unavailable
from custody_memory.ledger import MemoryLedger
from custody_memory.policies import MemoryPolicies
from custody_memory.signer import LocalSigner
from tests.support.ingest_world import FakeClock
from tests.support.signed_evidence import NOW, signer

PACKAGED = packaged_policies()
OLDER, NEWER = b'"version": "0.9.9"', b'"version": "1.10.0"'


@dataclass
class World:
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    policies: MemoryPolicies = field(default_factory=MemoryPolicies)
    ingestion: LocalSigner = field(default_factory=signer)
    policy: LocalSigner = field(default_factory=lambda: signer("policy"))
    index: LocalSigner = field(default_factory=lambda: signer("index"))
    clock: FakeClock = field(default_factory=FakeClock)

    def deploy(self, packaged: Mapping[str, bytes] = PACKAGED) -> DeployPolicies:
        return DeployPolicies(
            ledger=self.ledger,
            policies=self.policies,
            ingestion=self.ingestion,
            policy=self.policy,
            index=self.index,
            verifier=EcdsaVerifier(),
            packaged=packaged,
            clock=self.clock,
        )

    @property
    def active(self) -> ActivePolicies:
        return ActivePolicies(self.policies, EcdsaVerifier())


def versioned(version: bytes) -> dict[str, bytes]:
    return {name: text.replace(b'"version": "1.0.0"', version) for name, text in PACKAGED.items()}


def test_a_first_deployment_registers_the_keys_and_puts_both_policies_in_force() -> None:
    world = World()
    deployed = world.deploy()()
    signers = (world.ingestion, world.policy, world.index)
    keys = [signer.verification_key() for signer in signers]
    assert deployed.keyids == deployed.registered == tuple(key.keyid for key in keys)
    assert deployed.signed == ("reputation", "gate")
    control = world.ledger.control("acme")
    assert {key.keyid: key.purpose for key in control.keys.values()} == {
        keys[0].keyid: "ingestion",
        keys[1].keyid: "policy",
        keys[2].keyid: "index",
    }
    assert tuple(control.policies.values()) == deployed.policies
    assert world.active.reputation(control)[1].reputation_weight == 0.15
    assert world.active.gate(control)[1].presets["balanced"].threshold == 0.55


def test_a_deployment_makes_the_secret_of_page_cursors_once() -> None:
    world = World()
    with pytest.raises(Unavailable):
        world.ledger.page_secret()
    world.deploy()()
    secret = world.ledger.page_secret()
    world.deploy()()
    assert world.ledger.page_secret() == secret


def test_a_key_s_window_opens_a_little_early_for_clocks_that_differ() -> None:
    world = World()
    world.deploy()()
    key = world.ingestion.verification_key()
    stored = world.ledger.control("acme").keys[key.keyid]
    assert stored.not_before == key.not_before - timedelta(minutes=5)


def test_a_second_deployment_changes_nothing() -> None:
    world = World()
    first = world.deploy()()
    before = world.ledger.control("acme")
    second = world.deploy()()
    assert (second.registered, second.signed) == ((), ())
    assert second.policies == first.policies
    assert world.ledger.control("acme") == before


@pytest.mark.parametrize("state", [KeyState.RETIRED, KeyState.REVOKED])
def test_a_deployment_never_brings_a_key_back(state: KeyState) -> None:
    world = World()
    world.deploy()()
    key = world.ingestion.verification_key()
    world.ledger.put_key(replace(key, state=state, not_after=NOW))
    world.deploy()()
    stored = world.ledger.control("acme").keys[key.keyid]
    assert (stored.state, stored.not_after) == (state, NOW)


@pytest.mark.parametrize("version", [OLDER, NEWER, b'"version": "1.0.0" '])
def test_a_packaged_policy_of_another_digest_is_put_in_force_whatever_its_version(
    version: bytes,
) -> None:
    world = World()
    text = PACKAGED["gate"].replace(b"0.55", b"0.56").replace(b'"version": "1.0.0"', version)
    world.deploy({**PACKAGED, "gate": text})()
    assert world.deploy()().signed == ("gate",)
    assert world.active.gate(world.ledger.control("acme"))[1].presets["balanced"].threshold == 0.55
    assert world.deploy()().signed == ()


def test_a_packaged_policy_that_is_only_written_otherwise_stays() -> None:
    world = World()
    world.deploy()()
    spaced = {name: text.replace(b":", b" : ") for name, text in PACKAGED.items()}
    assert world.deploy(spaced)().signed == ()


def test_what_a_governor_put_in_force_stays_until_the_package_changes() -> None:
    world = World()
    world.deploy()()
    envelope = world.policy.sign(
        POLICY_PAYLOAD_TYPE, canonical_json(parse_json(PACKAGED["gate"].replace(b"0.55", b"0.56")))
    )
    chosen = PolicyRef("gate", "1.0.0", policy_digest(envelope))
    world.policies.put(chosen, envelope)
    activated = TrustChange("policy/gate", TrustAction.ACTIVATED, NOW, "gov", policy=chosen)
    world.ledger.put_policy_ref(None, chosen, change=activated)
    assert world.deploy()().signed == ()
    assert world.ledger.control("acme").policies["gate"] == chosen
    assert world.deploy({**PACKAGED, **versioned(NEWER)})().signed == ("reputation", "gate")
    told = [change.action for change in world.ledger.trust_changes(None, "policy/gate")]
    assert told == [TrustAction.PACKAGED, TrustAction.ACTIVATED, TrustAction.PACKAGED]


def test_a_tenant_s_own_policy_does_not_stand_in_for_the_service_s() -> None:
    world = World()
    world.deploy(versioned(OLDER))()
    own = world.ledger.control("acme").policies["gate"]
    world.ledger.put_policy_ref("public", replace(own, version="9.0.0"))
    assert "gate" in world.deploy()().signed


def test_a_new_policy_key_signs_anew_what_the_old_one_no_longer_vouches_for() -> None:
    world = World()
    world.deploy()()
    old = world.policy.verification_key()
    world.ledger.put_key(replace(old, state=KeyState.REVOKED))
    with pytest.raises(Unavailable):
        world.active.gate(world.ledger.control("acme"))
    world.policy = signer("policy")
    assert world.deploy()().signed == ("reputation", "gate")
    assert world.active.gate(world.ledger.control("acme"))[1].version == "1.0.0"


def test_a_packaged_policy_that_is_invalid_changes_nothing() -> None:
    world = World()
    bad = {**PACKAGED, "gate": PACKAGED["gate"].replace(b"0.35", b"3.5")}
    with pytest.raises(IntegrityError) as caught:
        world.deploy(bad)()
    assert caught.value.code == "invalid-policy"
    with pytest.raises(Unavailable):
        world.ledger.control("acme")


def test_a_packaged_policy_of_no_known_kind_changes_nothing() -> None:
    world = World()
    with pytest.raises(IntegrityError) as caught:
        world.deploy({**PACKAGED, "other": PACKAGED["gate"]})()
    assert caught.value.code == "invalid-policy"
    with pytest.raises(NoControlItem):
        world.ledger.control("acme")


class Down(MemoryLedger):
    def control(self, tenant: str) -> Control:
        raise Unavailable("The ledger can't be reached.", code="ledger-unavailable")


def test_a_ledger_that_is_down_is_not_taken_for_an_empty_one() -> None:
    world = World(ledger=Down())
    with pytest.raises(Unavailable) as caught:
        world.deploy()()
    assert caught.value.code == "ledger-unavailable"
    assert world.ledger._keys == {}
