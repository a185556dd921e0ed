"""Which vectors go into the graph of an OpenSearch index."""

from __future__ import annotations

import numpy as np
import pytest

from custody.adapters.opensearch_index.crowds import IN_GRAPH, Crowds, likeness
from tests.support.evidence import unit

DIMENSIONS = 384


@pytest.mark.parametrize("there", [0, 3, IN_GRAPH, IN_GRAPH + 5])
def test_of_one_likeness_a_few_go_in_whatever_was_there(there: int) -> None:
    crowds = Crowds()
    assert crowds.unknown(["b", "a", "b"]) == ["a", "b"]
    crowds.learn(["a", "b"], {"a": there})
    assert crowds.unknown(["a", "b"]) == []
    admitted = [crowds.admits("a") for _ in range(20)]
    assert admitted == [n < max(0, IN_GRAPH - there) for n in range(20)]
    assert crowds.admits("b")


def test_sums_in_another_order_make_no_other_likeness() -> None:
    chance = np.random.default_rng(3)
    same = 0
    for seed in range(50):
        vector = unit(seed, DIMENSIONS)
        noise = chance.standard_normal(DIMENSIONS).astype(np.float32) * 1e-8
        same += likeness(vector) == likeness(vector + noise)
    assert same >= 49  # a component may lie on the edge of its step
    assert len({likeness(unit(seed, DIMENSIONS)) for seed in range(500)}) == 500
