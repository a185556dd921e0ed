"""Who gets what: two principals of one tenant, another tenant, ACL changes, answers, traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from custody_client import Client
from tests.support.service import Person, Service, new_tenant, of, refusal, texts, until

ANSWERABLE = "How many weeks of parental leave do employees get?"
UNANSWERABLE = "Which supplier delivers the fluoride, and at what price per tonne?"


@dataclass(frozen=True)
class House:
    service: Service
    tenant: str
    other: str
    writer: Client
    rita: Client  # of no group
    sven: Client  # of the group safety
    ines: Client  # of the other tenant


def publish(client: Client, document_id: str, text: str, acl: list[str] | None = None) -> None:
    client.put_document(document_id, "wiki", text, "text/markdown", acl=acl)


@pytest.fixture(scope="module")
def house(service: Service) -> House:
    tenant, other = new_tenant("reads"), new_tenant("reads")
    writers = {}
    for one in (tenant, other):
        service.source(one, "wiki")
        scopes = ("read", "write", "erase")
        writers[one] = service.client(Person(one, "pat", ("publishers",), scopes))
    mine = writers[tenant]
    publish(mine, "leave", "# Leave\n\nEmployees get sixteen weeks of parental leave.\n")
    publish(mine, "pumps", "# Pumps\n\nPump one lifts ninety litres per second.\n")
    publish(mine, "incident", "# Incident\n\nChlorine leaked at drum four.\n", ["group:safety"])
    publish(writers[other], "leave", "# Leave\n\nOur code word for leave is HERON-41.\n")
    for document_id in ("leave", "pumps", "incident"):
        mine.wait_for_document(document_id, timeout=240)
    writers[other].wait_for_document("leave", timeout=240)
    return House(
        service,
        tenant,
        other,
        mine,
        service.client(Person(tenant, "rita")),
        service.client(Person(tenant, "sven", ("safety",))),
        service.client(Person(other, "ines")),
    )


def test_two_principals_of_one_tenant_get_what_each_may_see(house: House) -> None:
    question = "chlorine incident at drum four"
    assert "drum four" in texts(house.sven.search(question))
    theirs = house.rita.search(question, k=50)
    assert "drum four" not in texts(theirs)
    assert {item["document_id"] for item in theirs["results"]} <= {"leave", "pumps", "rota"}
    assert "withheld" not in theirs
    assert all(
        leg is None or leg.get("score") is None
        for item in theirs["results"]
        for leg in (item["scores"]["semantic"], item["scores"]["lexical"])
    )


def test_another_tenant_gets_nothing_but_its_own(house: House) -> None:
    theirs = house.ines.search("parental leave", k=50)
    assert "HERON-41" in texts(theirs)
    assert len(theirs["results"]) == 1
    for reader in (house.rita, house.sven):
        assert "HERON-41" not in texts(reader.search("code word HERON-41 for leave", k=50))
    assert refusal(lambda: house.ines.get_document("incident")) == (404, "not-found")


@pytest.mark.parametrize("route", ["sparse", "dense", "hybrid", "auto"])
def test_every_route_that_there_is_finds_the_document(house: House, route: str) -> None:
    found = house.rita.search("weeks of parental leave", route=route)  # type: ignore[arg-type]  # one of the routes
    assert found["results"][0]["document_id"] == "leave"
    assert [item["rank"] for item in found["results"]] == list(range(1, len(found["results"]) + 1))
    assert found["degraded"] == []


def test_narrowing_holds_at_the_next_read_and_widening_when_the_call_returns(
    house: House,
) -> None:
    publish(house.writer, "rota", "# Rota\n\nThe weasel has the night shift.\n")
    house.writer.wait_for_document("rota", timeout=240)
    question = "who has the night shift"
    assert "weasel" in texts(house.rita.search(question))

    house.writer.set_acl("rota", ["group:safety"])
    assert "weasel" not in texts(house.rita.search(question, k=50))
    assert refusal(lambda: house.rita.get_document("rota")) == (404, "not-found")
    assert "weasel" in until(
        "who still may read it does", lambda: texts(house.sven.search(question))
    )

    house.writer.set_acl("rota", [f"tenant:{house.tenant}"])
    until("the wider ACL is signed", lambda: _settled(house, "rota"))
    (item,) = of(house.rita.search(question), "rota")
    assert item["version"] == 1
    assert item["provenance"]["outcome"] == "VERIFIED"


def _settled(house: House, document_id: str) -> bool:
    shown: dict[str, object] = dict(house.writer.get_document(document_id))
    return shown["pending_acl"] is None


def test_an_answerable_question_passes_and_an_unanswerable_one_abstains(house: House) -> None:
    given = house.rita.answer(ANSWERABLE)
    assert given["verdict"] == "answerable"
    assert given["gate"]["reasons"] == ["PASS"]
    assert "sixteen weeks" in given["evidence"][0]["text"]
    assert "sixteen weeks" in (given["envelope"] or "")
    refused = house.rita.answer(UNANSWERABLE)
    assert refused["verdict"] == "insufficient"
    assert refused["gate"]["reasons"]
    assert "PASS" not in refused["gate"]["reasons"]
    assert refused["envelope"] is None
    assert refused["generation"] is None


def test_a_restricted_passage_is_evidence_for_nobody_else(house: House) -> None:
    question = "At which drum did the chlorine leak?"
    assert "drum four" in "".join(e["text"] for e in house.sven.answer(question)["evidence"])
    given = house.rita.answer(question)
    assert "drum four" not in "".join(e["text"] for e in given["evidence"])


def test_overriding_the_gate_needs_its_scope_and_is_written_down(house: House) -> None:
    refused = refusal(lambda: house.rita.answer(UNANSWERABLE, gate_override=True))
    assert refused == (403, "scope-missing")
    boss = house.service.client(Person(house.tenant, "boss", scopes=("read", "override")))
    given = boss.answer(UNANSWERABLE, gate_override=True)
    assert given["gate"]["overridden"] is True
    assert boss.get_answer(given["answer_id"])["gate"]["overridden"] is True


def test_a_trace_is_read_by_its_own_subject_and_by_auditors_of_its_tenant(house: House) -> None:
    given = house.rita.answer(ANSWERABLE)
    stored = house.rita.get_answer(given["answer_id"])
    assert stored["subject"] == "rita"
    assert stored["gate"]["verdict"] == given["verdict"]
    assert [e["chunk_id"] for e in stored["evidence"]] == [e["chunk_id"] for e in given["evidence"]]
    assert "sixteen weeks" in (stored["evidence"][0]["text"] or "")

    def read(person: Person) -> Callable[[], object]:
        return lambda: house.service.client(person).get_answer(given["answer_id"])

    assert refusal(read(Person(house.tenant, "sven", ("safety",)))) == (404, "not-found")
    assert refusal(read(Person(house.other, "rita"))) == (404, "not-found")
    assert refusal(read(Person(house.other, "aud", scopes=("read", "audit")))) == (404, "not-found")
    auditor = house.service.client(Person(house.tenant, "aud", scopes=("read", "audit")))
    assert auditor.get_answer(given["answer_id"])["answer_id"] == given["answer_id"]


def test_an_auditor_is_told_the_scores(house: House) -> None:
    auditor = house.service.client(Person(house.tenant, "aud", scopes=("read", "audit")))
    found = auditor.search("weeks of parental leave")
    assert found["withheld"] == {}
    lexical = found["results"][0]["scores"]["lexical"]
    assert lexical is not None
    assert (lexical["score"] or 0) > 0
