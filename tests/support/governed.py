"""A service whose gate policy was put in force by its operators, and one more that waits."""

from __future__ import annotations

import json
from typing import Any

from custody.domain.model import PUBLIC_TENANT, Scope
from tests.support.functions import ROOT
from tests.support.ingest_world import World, principal

OPERATOR = principal("op", tenant=PUBLIC_TENANT, scopes=frozenset({Scope.GOVERN}))


def packaged_gate(**changes: Any) -> dict[str, Any]:
    text = (ROOT / "policies" / "gate" / "default.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document | changes


def govern(world: World) -> str:
    """The digest of a signed gate policy that is not in force."""
    policies = world.service.policies
    for version in ("1.0.0", "1.0.1"):
        signed = policies.sign(OPERATOR, "gate", packaged_gate(version=version))
        policies.activate(OPERATOR, "gate", signed.ref.digest)
    return policies.sign(OPERATOR, "gate", packaged_gate(version="1.1.0")).ref.digest


def named(given: dict[str, Any], *, keyid: str, digest: str) -> dict[str, Any]:
    """An event with the names that are made anew each time put in."""
    text = json.dumps(given).replace("KEYID", keyid).replace("DIGEST", digest)
    filled: dict[str, Any] = json.loads(text)
    return filled
