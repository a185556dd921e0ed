"""A kind of policy that the service does not know, from its module to a value in force."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.adapters.packaged_policies import packaged_policies
from custody.application.governance.active_policies import ActivePolicies
from custody.application.governance.deploy_policies import DeployPolicies
from custody.application.governance.kinds import KINDS
from custody.application.governance.policy_kind import PolicyDocument, PolicyKind, PolicyPart
from custody.errors import IntegrityError, Unavailable
from custody_memory.ledger import MemoryLedger
from custody_memory.policies import MemoryPolicies
from tests.support.ingest_world import FakeClock
from tests.support.signed_evidence import signer


class Limits(PolicyPart):
    days: int


class FreshnessDocument(PolicyDocument):
    name: Literal["freshness"]
    limits: dict[str, Limits]


@dataclass(frozen=True, slots=True)
class Freshness:
    limits: dict[str, timedelta]


def freshness(document: FreshnessDocument) -> Freshness:
    if "default" not in document.limits:
        raise IntegrityError("There is no default limit.", code="invalid-policy")
    return Freshness({name: timedelta(limit.days) for name, limit in document.limits.items()})


FRESHNESS = PolicyKind("freshness", FreshnessDocument, freshness)
REGISTERED = {**KINDS, FRESHNESS.name: FRESHNESS}
WRITTEN: dict[str, Any] = {
    "name": "freshness",
    "version": "1.2.0",
    "limits": {"default": {"days": 30}, "news": {"days": 2}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {**packaged_policies(), "freshness": json.dumps(WRITTEN).encode()}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "default.json").write_bytes(text)
    return tmp_path


def test_a_new_kind_is_signed_deployed_and_loaded(folder: Path) -> None:
    ledger, policies, verifier = MemoryLedger(), MemoryPolicies(), EcdsaVerifier()
    deploy = DeployPolicies(
        ledger=ledger,
        policies=policies,
        ingestion=signer(),
        policy=signer("policy"),
        index=signer("index"),
        verifier=verifier,
        packaged=packaged_policies(folder, kinds=REGISTERED),
        clock=FakeClock(),
        kinds=REGISTERED,
    )
    assert deploy().signed == ("reputation", "gate", "freshness")
    assert deploy().signed == ()
    control = ledger.control("acme")
    ref, value = ActivePolicies(policies, verifier).in_force(FRESHNESS, control)
    assert (ref.name, ref.version) == ("freshness", "1.2.0")
    assert value.limits == {"default": timedelta(30), "news": timedelta(2)}
    gone = {name: ref for name, ref in control.policies.items() if name != "freshness"}
    with pytest.raises(Unavailable) as caught:
        ActivePolicies(policies, verifier).in_force(FRESHNESS, replace(control, policies=gone))
    assert caught.value.code == "policy-unavailable"


def test_two_kinds_never_share_a_value_though_one_reference_names_both() -> None:
    """What is remembered belongs to the kind that read it."""
    other = PolicyKind("freshness", FreshnessDocument, lambda document: document.version)
    ledger, policies, verifier = MemoryLedger(), MemoryPolicies(), EcdsaVerifier()
    DeployPolicies(
        ledger=ledger,
        policies=policies,
        ingestion=signer(),
        policy=signer("policy"),
        index=signer("index"),
        verifier=verifier,
        packaged={"freshness": json.dumps(WRITTEN).encode()},
        clock=FakeClock(),
        kinds=REGISTERED,
    )()
    active, control = ActivePolicies(policies, verifier), ledger.control("acme")
    assert isinstance(active.in_force(FRESHNESS, control)[1], Freshness)
    assert active.in_force(other, control)[1] == "1.2.0"


def test_a_new_kind_has_its_schema() -> None:
    jsonschema.Draft202012Validator(FRESHNESS.json_schema()).validate(WRITTEN)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "gate"},
        {"version": "1"},
        {"limits": {}},
        {"limits": {"default": {"days": "30"}}},
        {"limits": {"default": {"days": 30, "hours": 1}}},
        {"more": 1},
    ],
)
def test_a_new_kind_is_read_as_strictly_as_the_others(change: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError) as caught:
        FRESHNESS.read(json.dumps(WRITTEN | change).encode())
    assert caught.value.code == "invalid-policy"


def test_a_kind_that_leaves_its_name_open_reads_none_of_another_name() -> None:
    kind = PolicyKind("open", PolicyDocument, lambda document: document.version)
    assert kind.read(b'{"name": "open", "version": "1.0.0"}').value == "1.0.0"
    with pytest.raises(IntegrityError) as caught:
        kind.read(b'{"name": "gate", "version": "1.0.0"}')
    assert caught.value.code == "invalid-policy"
