import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.adapters.packaged_policies import packaged_policies
from custody.application.governance.active_policies import (
    POLICY_PAYLOAD_TYPE,
    ActivePolicies,
    policy_digest,
)
from custody.application.governance.kinds import KINDS
from custody.application.governance.kinds.gate import GATE
from custody.application.governance.kinds.reputation import REPUTATION
from custody.domain.model import Control, Envelope, KeyState, PolicyRef, VerificationKey
from custody.domain.ranking.gate_policy import GatePolicy, GatePreset, GateWeights
from custody.errors import ConfigurationError, IntegrityError, Unavailable
from custody_memory.policies import MemoryPolicies
from tests.support.signed_evidence import signer

POLICIES = Path(__file__).parents[2] / "policies"
PACKAGED = packaged_policies()
SIGNER = signer("policy")
STRANGER = signer("policy")


# the documents


@pytest.mark.parametrize("name", KINDS)
def test_the_schema_beside_a_policy_is_the_one_its_model_gives(name: str) -> None:
    written = json.loads((POLICIES / name / "schema.json").read_text())
    assert written == KINDS[name].json_schema()
    jsonschema.Draft202012Validator.check_schema(written)


@pytest.mark.parametrize("name", KINDS)
def test_the_default_policy_satisfies_schema_and_reader(name: str) -> None:
    value = json.loads((POLICIES / name / "default.json").read_text())
    jsonschema.Draft202012Validator(KINDS[name].json_schema()).validate(value)
    assert KINDS[name].read(PACKAGED[name]).version == value["version"]


def test_the_default_gate_has_the_worked_weights_floors_and_presets() -> None:
    assert GATE.read(PACKAGED["gate"]).value == GatePolicy(
        version="1.0.0",
        weights=GateWeights(top=0.35, coverage=0.30, margin=0.20, support=0.15),
        presets={
            "strict": GatePreset(threshold=0.70, top_floor=0.10, coverage_floor=0.35),
            "balanced": GatePreset(threshold=0.55, top_floor=0.10, coverage_floor=0.25),
            "lenient": GatePreset(threshold=0.40, top_floor=0.10, coverage_floor=0.15),
        },
    )


def test_the_default_bounds_are_what_each_fusion_can_reach() -> None:
    by_ranker = REPUTATION.read(PACKAGED["reputation"]).value
    bounds = {
        ranker: (policy.similarity_min, policy.similarity_max)
        for ranker, policy in by_ranker.items()
    }
    assert bounds == {"rrf": (0, 2 / 61), "rrf-single": (0, 1 / 61), "linear": (0, 1)}


def changed(name: str, *path: str, to: object) -> bytes:
    value: Any = json.loads(PACKAGED[name])
    at = value
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("reputation", b"{"),
        ("reputation", b"[]"),
        ("reputation", PACKAGED["gate"]),
        ("reputation", PACKAGED["reputation"][:-2] + b',"version":"9.0.0"}'),
        ("reputation", changed("reputation", "trusted", to=True)),
        ("reputation", changed("reputation", "version", to="")),
        ("reputation", changed("reputation", "version", to="1")),
        ("reputation", changed("reputation", "version", to=1)),
        ("reputation", changed("reputation", "reputation_weight", to=True)),
        ("reputation", changed("reputation", "reputation_weight", to="0.1")),
        ("reputation", changed("reputation", "reputation_weight", to=math.nan)),
        ("reputation", changed("reputation", "reputation_weight", to=1.5)),
        ("reputation", changed("reputation", "source_scores", to={"wiki": 0.5})),
        ("reputation", changed("reputation", "source_scores", to={"acme/wiki": 2})),
        ("reputation", changed("reputation", "calibrations", to=[])),
        (
            "reputation",
            changed(
                "reputation",
                "calibrations",
                to=[{"ranker": "rrf", "similarity_min": 1.0, "similarity_max": 1.0}],
            ),
        ),
        (
            "reputation",
            changed(
                "reputation",
                "calibrations",
                to=[{"ranker": "rrf", "similarity_min": 0.0, "similarity_max": 1.0}] * 2,
            ),
        ),
        ("gate", changed("gate", "weights", "top", to=0.5)),
        ("gate", changed("gate", "weights", "top", to="0.35")),
        ("gate", changed("gate", "presets", "strict", "threshold", to=0.1)),
        ("gate", changed("gate", "presets", "strict", "threshold", to="false")),
        ("gate", changed("gate", "presets", "generous", to={})),
    ],
)
def test_a_bad_policy_is_refused_whole(name: str, payload: bytes) -> None:
    with pytest.raises(IntegrityError) as caught:
        KINDS[name].read(payload)
    assert caught.value.code == "invalid-policy"


def test_a_folder_without_the_policies_is_a_fault_of_the_deployment(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        packaged_policies(tmp_path)


# those in force


class Counting(EcdsaVerifier):
    def __init__(self) -> None:
        self.calls = 0

    def verify(self, envelope: Envelope, key: VerificationKey) -> bool:
        self.calls += 1
        return super().verify(envelope, key)


def in_force(
    name: str = "reputation",
    payload: bytes | None = None,
    *,
    by: Any = SIGNER,
    payload_type: str = POLICY_PAYLOAD_TYPE,
    version: str = "1.0.0",
) -> tuple[Control, MemoryPolicies]:
    envelope = by.sign(payload_type, PACKAGED[name] if payload is None else payload)
    ref = PolicyRef(name, version, policy_digest(envelope))
    store = MemoryPolicies()
    store.put(ref, envelope)
    key = SIGNER.verification_key()
    return Control("acme", {key.keyid: key}, {name: ref}), store


def use(control: Control, store: MemoryPolicies, name: str = "reputation") -> object:
    policies = ActivePolicies(store, EcdsaVerifier())
    return policies.reputation(control) if name == "reputation" else policies.gate(control)


def test_a_signed_policy_in_force_is_given_with_its_reference() -> None:
    control, store = in_force()
    ref, policy = ActivePolicies(store, EcdsaVerifier()).reputation(control, "linear")
    assert ref == control.policies["reputation"]
    assert (policy.version, policy.ranker, policy.similarity_max) == ("1.0.0", "linear", 1.0)
    control, store = in_force("gate")
    assert ActivePolicies(store, EcdsaVerifier()).gate(control)[1].weights.top == 0.35


Refused = Callable[[], tuple[Control, MemoryPolicies]]


def _key(**changes: Any) -> Refused:
    def make() -> tuple[Control, MemoryPolicies]:
        control, store = in_force()
        key = replace(SIGNER.verification_key(), **changes)
        return replace(control, keys={SIGNER.verification_key().keyid: key}), store

    return make


def _reference(**changes: str) -> Refused:
    def make() -> tuple[Control, MemoryPolicies]:
        control, store = in_force()
        ref = replace(control.policies["reputation"], **changes)
        return replace(control, policies={"reputation": ref}), store

    return make


def _swapped() -> tuple[Control, MemoryPolicies]:
    """Another validly signed policy lies under the digest that is in force."""
    control, store = in_force()
    other = SIGNER.sign(POLICY_PAYLOAD_TYPE, changed("reputation", "reputation_weight", to=0.9))
    store._envelopes[control.policies["reputation"].digest] = other
    return control, store


def _forged() -> tuple[Control, MemoryPolicies]:
    """Signed by a stranger under the trusted key's id, and named by its own digest."""
    envelope = replace(
        STRANGER.sign(POLICY_PAYLOAD_TYPE, PACKAGED["reputation"]),
        keyid=SIGNER.verification_key().keyid,
    )
    ref = PolicyRef("reputation", "1.0.0", policy_digest(envelope))
    control, store = in_force()
    store.put(ref, envelope)
    return replace(control, policies={"reputation": ref}), store


@pytest.mark.parametrize(
    "make",
    [
        lambda: (Control("acme", {}, {}), MemoryPolicies()),
        lambda: (in_force()[0], MemoryPolicies()),
        lambda: in_force(by=STRANGER),
        lambda: in_force(payload_type="application/vnd.in-toto+json"),
        lambda: in_force(payload=b"{}"),
        lambda: in_force(payload=PACKAGED["gate"]),
        lambda: in_force(version="2.0.0"),
        _key(state=KeyState.RETIRED),
        _key(state=KeyState.REVOKED),
        _key(purpose="ingestion"),
        _key(public_key_pem="nonsense"),
        _reference(name="gate"),
        _reference(digest="00" * 32),
        _swapped,
        _forged,
    ],
    ids=[
        "none in force",
        "not stored",
        "unknown key",
        "another payload type",
        "no policy",
        "another policy",
        "another version",
        "retired key",
        "revoked key",
        "a key for statements",
        "a broken key",
        "a reference to another name",
        "a reference to nothing",
        "swapped",
        "forged",
    ],
)
def test_invariant_9_without_a_valid_policy_there_is_no_default(make: Refused) -> None:
    control, store = make()
    with pytest.raises(Unavailable) as caught:
        use(control, store)
    assert caught.value.code == "policy-unavailable"
    assert caught.value.status == 503


def test_a_ranker_without_bounds_is_refused() -> None:
    control, store = in_force()
    with pytest.raises(Unavailable) as caught:
        ActivePolicies(store, EcdsaVerifier()).reputation(control, "cross-encoder")
    assert caught.value.code == "policy-unavailable"


def test_the_signature_is_checked_once_and_the_key_s_state_every_time() -> None:
    control, store = in_force()
    verifier = Counting()
    policies = ActivePolicies(store, verifier)
    for _ in range(3):
        policies.reputation(control)
    assert verifier.calls == 1
    revoked = replace(SIGNER.verification_key(), state=KeyState.REVOKED)
    with pytest.raises(Unavailable):
        policies.reputation(replace(control, keys={revoked.keyid: revoked}))
    policies.reputation(control)


def test_a_gate_must_be_consistent() -> None:
    good = GATE.read(PACKAGED["gate"]).value
    for change in (
        {"version": ""},
        {"presets": {"strict": good.presets["strict"]}},
        {"presets": {**good.presets, "lenient": replace(good.presets["lenient"], threshold=1.0)}},
    ):
        with pytest.raises(IntegrityError):
            replace(good, **change)
    for weight in (math.nan, -0.1, True, 0.36):
        with pytest.raises(IntegrityError):
            replace(good.weights, top=weight)
    with pytest.raises(IntegrityError):
        replace(good.presets["strict"], top_floor=1.5)
