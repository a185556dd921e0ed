"""The whole search path on each real index: the same evidence, whichever proposes it."""

from __future__ import annotations

from typing import Any

import pytest

from custody.application.ports import EvidenceIndex
from custody.application.reading.answer import AnswerRequest
from custody.application.reading.search import SearchRequest, SearchResult
from custody.domain.index.candidates import Range
from custody.domain.model import Acl, Leg, Outcome, Principal, SourceState, VersionState
from custody.domain.ranking.sufficiency import Reason, Verdict
from custody.errors import Unprocessable
from tests.support.search_world import World, reader

QUESTION = "How many weeks of parental leave do employees get?"
LEAVE = "Employees get sixteen weeks of parental leave."
NOTES = tuple(f"Note {n}: parental leave, weeks and employees, case {n}." for n in range(12))


@pytest.fixture
def world(index: EvidenceIndex) -> World:
    made = World(real_index=index)
    made.publish("leave", LEAVE, metadata={"team": "people", "year": 2026})
    made.publish("lunch", "Lunch is served at noon.", metadata={"team": 'a" OR "b'})
    return made


def search(world: World, query: str = QUESTION, who: Principal | None = None, **changes: Any
           ) -> SearchResult:  # fmt: skip
    return world.search(who or reader(), SearchRequest(query, **changes))


def found(result: SearchResult) -> list[str]:
    return [item.key.document_id for item in result.results]


def test_verified_evidence_comes_back_from_both_legs(world: World) -> None:
    result = search(world)
    assert found(result) == ["leave", "lunch"]
    assert result.outcomes == {Outcome.VERIFIED: 2}
    first = result.results[0].scores
    assert set(first.legs) == set(Leg)
    assert first.legs[Leg.SEMANTIC].score == pytest.approx(
        float(world.embedder.embed_query(QUESTION) @ world.embedder.embed_query(LEAVE)), abs=1e-3
    )


def test_a_restricted_caller_sees_what_an_index_of_only_their_documents_would_give(
    world: World,
) -> None:
    for n, text in enumerate(NOTES):
        world.publish(f"note{n}", text, acl=Acl.of("user:ann" if n % 3 == 0 else "group:admins"))
    mine = search(world, who=reader(groups=frozenset()))
    assert set(found(mine)) == {f"note{n}" for n in range(0, 12, 3)}
    alone = World()
    for n in range(0, 12, 3):
        alone.publish(f"note{n}", NOTES[n], acl=Acl.of("user:ann"))
    theirs = search(alone, who=reader(groups=frozenset()))
    assert semantic_ranks(mine) == semantic_ranks(theirs)
    assert mine.withheld == {}


def semantic_ranks(result: SearchResult) -> dict[str, int]:
    return {
        item.chunk_id: item.scores.legs[Leg.SEMANTIC].rank
        for item in result.results
        if Leg.SEMANTIC in item.scores.legs
    }


def test_another_tenant_finds_nothing_and_public_serves_all(world: World) -> None:
    world.publish("law", "Parental leave is sixteen weeks by law.", tenant="public",
                  acl=Acl.of("everyone"))  # fmt: skip
    assert found(search(world, who=reader(tenant="globex"))) == ["law"]
    assert set(found(search(world))) == {"leave", "lunch", "law"}


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ({"team": "people"}, ["leave"]),
        ({"team": 'a" OR "b'}, ["lunch"]),
        ({"team": ("people", 'a" OR "b')}, ["leave", "lunch"]),
        ({"team": "a"}, []),
        ({"year": Range(gte=2026, lte=2026)}, ["leave"]),
        ({"year": Range(gte=2027)}, []),
    ],
)
def test_filters_bind_in_both_legs(
    world: World, clauses: dict[str, Any], expected: list[str]
) -> None:
    result = search(world, filter=clauses)
    assert found(result) == expected
    assert result.withheld == {}


@pytest.mark.parametrize("clauses", [{"unknown": "x"}, {"team": "people", "unknown": Range(gte=1)}])
def test_a_field_that_nothing_has_is_no_empty_answer(world: World, clauses: dict[str, Any]) -> None:
    with pytest.raises(Unprocessable) as refused:
        search(world, filter=clauses)
    assert (refused.value.code, refused.value.field) == ("unknown-field", "filter.unknown")


def test_an_erasure_takes_effect_before_the_index_knows(world: World) -> None:
    head = next(h for h in world.ledger.heads.values() if h.name == "leave.md")
    world.change_head(head, state=VersionState.ERASED, erased_through=1)
    assert found(search(world)) == ["lunch"]


def test_look_alikes_of_a_quarantined_source_starve_nobody(world: World) -> None:
    for n in range(60):
        world.publish(f"copy{n}", f"{QUESTION} Copy {n}.", source_id="forum")
    world.source("forum", state=SourceState.QUARANTINED)
    result = search(world, k=2)
    assert found(result) == ["leave", "lunch"]
    assert sum(result.withheld.values()) >= 50


def test_a_word_that_stands_nowhere_gives_no_rank(world: World) -> None:
    assert search(world, "zzzz", route="sparse").results == ()


def test_an_empty_keyword_leg_is_no_evidence_to_the_gate(world: World) -> None:
    answer = world.answers(reader(), AnswerRequest(SearchRequest("zzzz", route="sparse")))
    assert answer.judgement.reasons == (Reason.NO_EVIDENCE,)
    assert answer.evidence == ()
    both = search(world, "zzzz", route="hybrid")
    assert set(found(both)) == {"leave", "lunch"}
    assert all(Leg.LEXICAL not in item.scores.legs for item in both.results)
    judged = world.answers(reader(), AnswerRequest(SearchRequest("zzzz", route="hybrid")))
    assert judged.verdict is Verdict.INSUFFICIENT


OTHER_SCRIPTS = [
    ("東京都は毎年一月に駐車許可証を更新します。", "駐車許可証の更新", "育児休暇"),
    ("停车许可证每年一月更新。", "停车许可证更新", "育儿假期"),
    ("주차 허가증은 매년 일월에 갱신됩니다.", "주차 허가증은 갱신됩니다", "육아휴직을 신청"),
    ("ใบอนุญาตจอดรถ ต่ออายุ ทุกเดือนมกราคม", "ใบอนุญาตจอดรถ ต่ออายุ", "ลาคลอด กี่สัปดาห์"),
]


@pytest.mark.parametrize(("text", "asked", "unasked"), OTHER_SCRIPTS)
def test_the_gate_covers_terms_of_other_scripts_as_the_index_finds_them(
    world: World, text: str, asked: str, unasked: str
) -> None:
    world.publish("other", text)
    said = world.answers(reader(), AnswerRequest(SearchRequest(asked, route="sparse")))
    assert said.evidence[0].key.document_id == "other"
    assert said.judgement.features.coverage > 0.5
    unsaid = world.answers(reader(), AnswerRequest(SearchRequest(unasked)))
    assert unsaid.verdict is Verdict.INSUFFICIENT
    assert unsaid.judgement.features.coverage == 0.0


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("従業員は十六週間の育児休暇を取得できます。", "育児休暇"),
        ("员工享有十六周的育儿假。", "育儿假"),
        ("직원은 십육 주의 육아휴직을 사용할 수 있습니다.", "육아휴직을"),
        ("พนักงานมีสิทธิลาคลอด สิบหก สัปดาห์", "สัปดาห์"),
        ("للموظفين إجازة والدية لمدة ستة عشر أسبوعا", "إجازة"),
        ("Отпуск по уходу за ребёнком длится шестнадцать недель", "недель"),
    ],
)
def test_words_inside_other_scripts_are_found_by_the_sparse_leg(
    world: World, text: str, query: str
) -> None:
    world.publish("other", text)
    assert found(search(world, query, route="sparse")) == ["other"]


@pytest.mark.parametrize("k", [1, 5, 10])
def test_the_shorter_list_is_a_prefix_of_the_longer(world: World, k: int) -> None:
    for n, text in enumerate(NOTES):
        world.publish(f"note{n}", text)
    assert found(search(world, k=10))[:k] == found(search(world, k=k))


def test_the_gate_answers_what_the_corpus_says_and_abstains_on_what_it_does_not(
    world: World,
) -> None:
    said = world.answers(reader(), AnswerRequest(SearchRequest(QUESTION)))
    assert said.verdict is Verdict.ANSWERABLE
    unsaid = world.answers(
        reader(), AnswerRequest(SearchRequest("Which team won the football cup in 1998?"))
    )
    assert unsaid.verdict is Verdict.INSUFFICIENT
