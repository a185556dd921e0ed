"""When evidence suffices: the gate's weights, floors and presets."""

from __future__ import annotations

from typing import Literal

from custody.application.governance.policy_kind import (
    PolicyDocument,
    PolicyKind,
    PolicyPart,
    Share,
)
from custody.domain.ranking.gate_policy import GatePolicy, GatePreset, GateWeights


class Weights(PolicyPart):
    top: Share
    coverage: Share
    margin: Share
    support: Share


class Preset(PolicyPart):
    threshold: Share
    top_floor: Share
    coverage_floor: Share


class Presets(PolicyPart):
    strict: Preset
    balanced: Preset
    lenient: Preset


class GateDocument(PolicyDocument):
    name: Literal["gate"]
    weights: Weights
    presets: Presets


def gate_policy(document: GateDocument) -> GatePolicy:
    """Raises IntegrityError(invalid-policy)."""
    return GatePolicy(
        version=document.version,
        weights=GateWeights(**document.weights.model_dump()),
        presets={
            name: GatePreset(**preset) for name, preset in document.presets.model_dump().items()
        },
    )


GATE = PolicyKind("gate", GateDocument, gate_policy)
