from __future__ import annotations

import pytest

from custody.domain.model import Leg
from custody.domain.ranking.routing import Route, choose


@pytest.mark.parametrize(
    ("question", "route"),
    [
        ("What is BM25?", Route.SPARSE),
        ("error E1234", Route.SPARSE),
        ("max_retry_count", Route.SPARSE),
        ("semantic evidence lookup for retrieval control", Route.HYBRID),
        ("Compare DPR and RAG across their architectures", Route.HYBRID),
        ("DPR versus RAG", Route.HYBRID),
        ("What is the difference between DPR and RAG?", Route.HYBRID),
        ("What is parental leave?", Route.HYBRID),
        ("how does BM25 weigh a term that stands in every document", Route.HYBRID),
        ("休暇は何日ですか", Route.HYBRID),
        ("🙂", Route.HYBRID),
    ],
)
def test_the_rule_picks_a_route_and_says_why(question: str, route: Route) -> None:
    found = choose(question)
    assert found.route is route
    assert found.reason


@pytest.mark.parametrize(
    ("route", "legs"),
    [
        (Route.SPARSE, {Leg.LEXICAL}),
        (Route.DENSE, {Leg.SEMANTIC}),
        (Route.HYBRID, {Leg.SEMANTIC, Leg.LEXICAL}),
    ],
)
def test_a_route_says_which_legs_rank(route: Route, legs: set[Leg]) -> None:
    assert route.legs == legs


def test_every_route_has_legs() -> None:
    assert all(route.legs for route in Route)


def test_a_comparison_says_that_no_graph_route_serves_it() -> None:
    assert "graph" in choose("Compare DPR and RAG across their architectures").reason
