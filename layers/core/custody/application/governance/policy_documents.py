"""Policies as they are written and signed: JSON, read strictly into the domain's values.

The JSON Schemas beside the policies are written from these models (``json_schema``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from custody.domain.provenance.canonical import parse_json
from custody.domain.provenance.identifiers import SOURCE_PATTERN, TENANT_PATTERN
from custody.domain.ranking.gate_policy import GatePolicy, GatePreset, GateWeights
from custody.domain.ranking.reputation import ReputationPolicy
from custody.errors import IntegrityError

POLICY_PAYLOAD_TYPE = "application/vnd.custody.policy+json"
POLICY_PURPOSE = "policy"

type Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
type Number = Annotated[float, Field(allow_inf_nan=False)]
type Version = Annotated[
    str, StringConstraints(pattern=r"^(0|[1-9]\d{0,5})(\.(0|[1-9]\d{0,5})){2}$")
]
type Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
type LineageId = Annotated[str, StringConstraints(pattern=f"^{TENANT_PATTERN}/{SOURCE_PATTERN}$")]


class _Document(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Calibration(_Document):
    """The bounds of one ranker's scores."""

    ranker: Name
    similarity_min: Number
    similarity_max: Number


class ReputationDocument(_Document):
    """``source_scores`` by ``<tenant>/<source_id>``."""

    name: Literal["reputation"]
    version: Version
    reputation_weight: Share
    unknown_source_score: Share = 0.0
    source_scores: dict[LineageId, Share]
    trust_domain_scores: dict[Name, Share] = Field(default_factory=dict)
    calibrations: Annotated[list[Calibration], Field(min_length=1, max_length=16)]

    def policies(self) -> dict[str, ReputationPolicy]:
        """By ranker. Raises IntegrityError(invalid-policy)."""
        found = {
            calibration.ranker: ReputationPolicy(
                version=self.version,
                source_scores=self.source_scores,
                reputation_weight=self.reputation_weight,
                similarity_min=calibration.similarity_min,
                similarity_max=calibration.similarity_max,
                unknown_source_score=self.unknown_source_score,
                trust_domain_scores=self.trust_domain_scores,
                ranker=calibration.ranker,
            )
            for calibration in self.calibrations
        }
        if len(found) != len(self.calibrations):
            raise IntegrityError("A ranker is calibrated twice.", code="invalid-policy")
        return found


class Weights(_Document):
    top: Share
    coverage: Share
    margin: Share
    support: Share


class Preset(_Document):
    threshold: Share
    top_floor: Share
    coverage_floor: Share


class Presets(_Document):
    strict: Preset
    balanced: Preset
    lenient: Preset


class GateDocument(_Document):
    name: Literal["gate"]
    version: Version
    weights: Weights
    presets: Presets

    def policy(self) -> GatePolicy:
        """Raises IntegrityError(invalid-policy)."""
        return GatePolicy(
            version=self.version,
            weights=GateWeights(**self.weights.model_dump()),
            presets={
                name: GatePreset(**preset) for name, preset in self.presets.model_dump().items()
            },
        )


type PolicyDocument = ReputationDocument | GateDocument

DOCUMENTS: dict[str, type[ReputationDocument] | type[GateDocument]] = {
    "reputation": ReputationDocument,
    "gate": GateDocument,
}


def read_policy(name: str, payload: bytes) -> PolicyDocument:
    """Strict JSON into a checked policy of that name. Raises IntegrityError(invalid-policy)."""
    model = DOCUMENTS.get(name)
    if model is None:
        raise IntegrityError(f"There is no policy named {name}.", code="invalid-policy")
    try:
        parse_json(payload)  # refuses what the model's own parser would let pass: repeated names
        document = model.model_validate_json(payload)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors()
        )
        raise IntegrityError(f"Not a {name} policy: {faults}.", code="invalid-policy") from None
    except IntegrityError as error:
        raise IntegrityError(error.detail, code="invalid-policy") from None
    if isinstance(document, ReputationDocument):
        document.policies()
    else:
        document.policy()
    return document


def version_order(version: str) -> tuple[int, ...] | None:
    """Versions compare number by number; None for what is no version of this form."""
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(p.isdecimal() for p in parts) else None


def json_schema(name: str) -> dict[str, object]:
    """JSON Schema 2020-12 of a policy's document."""
    schema = DOCUMENTS[name].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
