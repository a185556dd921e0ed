"""What an operator says that legs weigh."""

from __future__ import annotations

import pytest

from custody.bootstrap.environment import EnvironmentLimits
from custody.domain.model import Leg
from custody.errors import ConfigurationError
from custody.settings import Environment

VARIABLE = "CUSTODY_LEG_WEIGHTS"


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> EnvironmentLimits:
    monkeypatch.delenv(VARIABLE, raising=False)
    return EnvironmentLimits(Environment())


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ("semantic=1,lexical=0.5", {Leg.SEMANTIC: 1.0, Leg.LEXICAL: 0.5}),
        (" lexical = 2 ,", {Leg.LEXICAL: 2.0}),
        ("", {}),
        (None, {}),
    ],
)
def test_each_leg_weighs_what_it_is_given_by_name(
    limits: EnvironmentLimits,
    monkeypatch: pytest.MonkeyPatch,
    given: str | None,
    weights: dict[Leg, float],
) -> None:
    if given is not None:
        monkeypatch.setenv(VARIABLE, given)
    assert limits.leg_weights == weights


@pytest.mark.parametrize(
    "given",
    ["semantic", "semantic=", "semantic=much", "semantic=0", "lexical=-1", "lexical=101",
     "lexical=nan", "lexical=inf", "semantic=1=2", "graph=1", "=1"],
)  # fmt: skip
def test_a_weight_that_is_none_is_refused_by_the_variables_name(
    limits: EnvironmentLimits, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(ConfigurationError, match=rf"{VARIABLE}:"):
        _ = limits.leg_weights
