"""Invariant 9: what is missing gives an outcome of its own, never a guess.

A policy, a lineage record, a model revision, a control item, an ACL: each is taken away in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.application.governance.active_policies import ActivePolicies
from custody.application.reading.answer import AnswerRequest
from custody.application.reading.search import SearchRequest
from custody.domain.model import Control, Outcome
from custody.domain.ranking import reputation
from custody.errors import CustodyError, IntegrityError, Unavailable, Unprocessable
from custody_memory.ledger import MemoryLedger
from custody_memory.policies import MemoryPolicies
from tests.support.ingest_world import WRITER, request
from tests.support.ingest_world import World as Ingestion
from tests.support.search_world import World, reader

QUESTION = "How many weeks of parental leave do employees get?"


@pytest.fixture
def world() -> World:
    made = World(scores={"acme/wiki": 1.0})
    made.publish("leave", "Employees get sixteen weeks of parental leave.")
    return made


def _no_reputation_policy(world: World) -> None:
    world.policies.missing = True


def _no_gate_policy(world: World) -> None:
    def gate(control: Control) -> Any:
        raise Unavailable("There is no gate policy.", code="policy-unavailable")

    world.policies.gate = gate  # type: ignore[method-assign]  # the fault


def _no_control_item(world: World) -> None:
    world.ledger.fault = Unavailable("There is no control item.", code="policy-unavailable")


def _another_model(world: World) -> None:
    world.index.fault = IntegrityError("m2, not m1", code="model-revision-mismatch")


def _no_ledger(world: World) -> None:
    world.ledger.fault = Unavailable("throttled", code="ledger-unavailable")


def _no_traces(world: World) -> None:
    def put(*args: Any, **kwargs: Any) -> None:
        raise Unavailable("down", code="trace-unavailable")

    world.traces.put = put  # type: ignore[method-assign]  # the fault


@pytest.mark.parametrize(
    ("take_away", "code"),
    [
        (_no_reputation_policy, "policy-unavailable"),
        (_no_gate_policy, "policy-unavailable"),
        (_no_control_item, "policy-unavailable"),
        (_another_model, "model-revision-mismatch"),
        (_no_ledger, "ledger-unavailable"),
        (_no_traces, "trace-unavailable"),
    ],
)
def test_what_is_missing_is_503_with_a_code_and_no_answer(
    world: World, take_away: Callable[[World], None], code: str
) -> None:
    take_away(world)
    asked: list[Callable[[], object]] = [
        lambda: world.answers(reader(), AnswerRequest(SearchRequest(QUESTION)))
    ]
    if take_away is not _no_gate_policy:  # a search does not ask the gate
        asked.append(lambda: world.search(reader(), SearchRequest(QUESTION)))
    for ask in asked:
        with pytest.raises(Unavailable) as caught:
            ask()
        assert (caught.value.code, caught.value.status) == (code, 503)


def test_without_any_policy_in_force_there_is_none() -> None:
    """The packaged defaults are no fallback: they count once they are signed and in force."""
    policies = ActivePolicies(MemoryPolicies(), EcdsaVerifier())
    for use in (
        lambda: policies.reputation(Control("acme", {}, {}), "rrf"),
        lambda: policies.gate(Control("acme", {}, {})),
    ):
        with pytest.raises(Unavailable) as caught:
            use()
        assert caught.value.code == "policy-unavailable"


def test_without_a_control_item_the_ledger_says_so() -> None:
    with pytest.raises(Unavailable) as caught:
        MemoryLedger().view("acme", "ann", (), ())
    assert caught.value.code == "policy-unavailable"


def test_evidence_without_a_lineage_record_is_withheld_and_never_trusted_by_default(
    world: World,
) -> None:
    world.ledger.sources.clear()
    result = world.search(reader(), SearchRequest(QUESTION))
    assert result.results == ()
    assert result.outcomes == {Outcome.UNAUTHORIZED: 1}


def test_a_candidate_without_lineage_is_an_error_to_reputation() -> None:
    policy = reputation.ReputationPolicy(
        version="1",
        source_scores={"acme/wiki": 1.0},
        reputation_weight=0.5,
        similarity_min=0.0,
        similarity_max=1.0,
        ranker="rrf",
    )
    with pytest.raises(IntegrityError) as caught:
        reputation.rerank([("chunk", 0.5)], {}, policy, {})
    assert caught.value.code == "lineage-missing"


def test_a_source_that_the_policy_does_not_name_gets_no_trust() -> None:
    world = World(scores={"acme/press": 1.0}, weight=0.5)
    world.publish("leave", "Employees get sixteen weeks of parental leave.")
    (only,) = world.search(reader(), SearchRequest(QUESTION)).results
    assert only.scores.reputation == 0.0


def test_a_missing_model_is_said_and_a_dense_route_refused(world: World) -> None:
    world.embedder.fault = Unavailable("no model", code="model-unavailable")
    result = world.search(reader(), SearchRequest(QUESTION))
    assert result.degraded == ("semantic-leg-unavailable",)
    with pytest.raises(Unavailable) as caught:
        world.search(reader(), SearchRequest(QUESTION, route="dense"))
    assert caught.value.code == "model-unavailable"


def test_a_document_without_an_acl_is_refused_and_not_opened_or_closed() -> None:
    world = Ingestion()
    world.source(default_acl=None)
    with pytest.raises(Unprocessable) as caught:
        world.post_document(WRITER, request())
    assert caught.value.code == "acl-required"
    assert world.objects.keys("") == ()


def test_a_version_whose_source_record_is_gone_is_not_published() -> None:
    world = Ingestion()
    world.source()
    world.while_waiting = lambda: None
    world.post_document(WRITER, request())
    real = world.ledger.source
    world.ledger.source = lambda key: None  # type: ignore[method-assign]  # the fault
    with pytest.raises(CustodyError) as caught:
        world.work()
    assert caught.value.code == "source-missing"
    world.ledger.source = real  # type: ignore[method-assign]  # put back
    assert world.served() == set()


def test_vectors_of_a_model_that_changed_midway_are_never_mixed() -> None:
    world = Ingestion()
    world.source()
    world.post_document(WRITER, request())
    before = world.index.visible()
    with pytest.raises(IntegrityError) as caught:
        world.index.ensure(next(iter(world.index._models)), model_revision="words-2", dimensions=8)
    assert caught.value.code == "model-revision-mismatch"
    world.use_model("words-2")
    world.while_waiting = lambda: None
    world.post_document(WRITER, request(text="new text"))
    with pytest.raises(IntegrityError) as caught:
        world.work()
    assert caught.value.code == "model-revision-mismatch"
    assert world.index.visible() == before
    assert world.texts() == {"alpha", "beta"}


def test_an_answer_names_the_policies_and_the_model_that_decided(world: World) -> None:
    answer = world.answers(reader(), AnswerRequest(SearchRequest(QUESTION)))
    assert (answer.reputation_policy.digest, answer.gate_policy.digest) == ("d" * 64, "e" * 64)
    assert answer.model_revision == "m1"
    trace = world.trace(answer.answer_id)
    assert trace.request.model_revision == "m1"
    assert trace.retrieval.policy.digest == "d" * 64
    assert trace.gate.policy.digest == "e" * 64
