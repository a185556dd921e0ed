"""How far each source is trusted, and the bounds of each ranker's scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from custody.application.governance.policy_kind import (
    LineageId,
    Name,
    Number,
    PolicyDocument,
    PolicyKind,
    PolicyPart,
    Share,
)
from custody.domain.ranking.reputation import ReputationPolicy
from custody.errors import IntegrityError


class Calibration(PolicyPart):
    """The bounds of one ranker's scores."""

    ranker: Name
    similarity_min: Number
    similarity_max: Number


class ReputationDocument(PolicyDocument):
    """``source_scores`` by ``<tenant>/<source_id>``."""

    name: Literal["reputation"]
    reputation_weight: Share
    unknown_source_score: Share = 0.0
    source_scores: dict[LineageId, Share]
    trust_domain_scores: dict[Name, Share] = Field(default_factory=dict)
    calibrations: Annotated[list[Calibration], Field(min_length=1, max_length=16)]


def by_ranker(document: ReputationDocument) -> Mapping[str, ReputationPolicy]:
    """Raises IntegrityError(invalid-policy)."""
    found = {
        calibration.ranker: ReputationPolicy(
            version=document.version,
            source_scores=document.source_scores,
            reputation_weight=document.reputation_weight,
            similarity_min=calibration.similarity_min,
            similarity_max=calibration.similarity_max,
            unknown_source_score=document.unknown_source_score,
            trust_domain_scores=document.trust_domain_scores,
            ranker=calibration.ranker,
        )
        for calibration in document.calibrations
    }
    if len(found) != len(document.calibrations):
        raise IntegrityError("A ranker is calibrated twice.", code="invalid-policy")
    return found


REPUTATION = PolicyKind("reputation", ReputationDocument, by_ranker)
