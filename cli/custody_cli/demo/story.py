"""The story, step by step. Each step shows what a person wants to see and checks its claims."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from rich.table import Table

from custody_cli import tables
from custody_cli.demo import corpus
from custody_cli.demo.corpus import Dropped
from custody_cli.demo.signatures import sha256, verify
from custody_cli.demo.stage import Person, Stage
from custody_cli.ingestion import FileOutcome, Pace, through_drop
from custody_cli.output import text
from custody_client import CustodyApiError

if TYPE_CHECKING:
    from custody_client.types import Answer, Evidence, SearchResult

MIRA = Person("mira", "harbour", ("operators",))
SVEN = Person("sven", "harbour", ("operators", "safety"))
PAT = Person("pat", "harbour", ("publishers",))
LEA = Person("lea", "lakeside", ("publishers",))
ROSA = Person("rosa", "harbour", ("governors",))
INES = Person("ines", "lakeside", ("operators",))
IVO = Person("ivo", "lakeside", ("governors",))
GOVERNORS = {"harbour": ROSA, "lakeside": IVO}
# Who writes a source oversees it, so nobody who is denied something may be one of its writers.
WRITERS = {"harbour": PAT, "lakeside": LEA}

RESTRICTED = ("harbour", "handbook", "incident-2026-014.md")
FORGED = ("harbour", "bulletins", "pump-offer.txt")
TWICE = ("harbour", "handbook", "leak-detection.md")
ERASED = ("harbour", "handbook", "hydrant-permits.md")
ACTIVE_HTML = ("harbour", "handbook", "boil-water-notice.html")
PDF = ("harbour", "handbook", "pump-station-7.pdf")

ANSWERABLE = "What is the target free chlorine residual at the works outlet?"
UNANSWERABLE = "Which supplier delivers the fluoride, and at what price per tonne?"
INCIDENT = "chlorine gas incident at pump station 7"
PERMITS = "Who holds the hydrant permit for the Fish Quay?"

#: Stands for the id of a drop that the service never told of, so that later claims fail plainly.
UNKNOWN = "unknown"

type Ids = dict[tuple[str, str, str], str]


def play(stage: Stage) -> None:
    """Everything in order. What a later step needs is handed on."""
    put_sources(stage)
    ids = drop_everything(stage)
    drop_again(stage, ids)
    search_as_three(stage, ids)
    meet_hostile_content(stage, ids)
    ask(stage)
    check_the_chain(stage, ids)
    erase(stage, ids)


def put_sources(stage: Stage) -> None:
    stage.heading("1. Governors say who publishes what, and for whom")
    table = Table("tenant", "source", "trust domain", "default ACL")
    for tenant, source_id, domain in (
        ("harbour", "handbook", "official"),
        ("harbour", "bulletins", "partner"),
        ("lakeside", "handbook", "official"),
    ):
        governor = stage.client(GOVERNORS[tenant], "govern")
        acl = [f"tenant:{tenant}"]
        governor.put_source(
            source_id, trust_domain=domain, writers=["group:publishers"], default_acl=acl
        )
        table.add_row(text(tenant), text(source_id), text(domain), text(acl[0]))
    stage.show(table)


def drop_everything(stage: Stage) -> Ids:
    stage.heading("2. Real files are dropped into S3, parsed, embedded, signed and published")
    dropped = corpus.first_versions()
    outcomes = _drop(stage, dropped, "Waiting until the documents are published")
    _show_drops(stage, outcomes)
    for key, outcome in outcomes.items():
        if key == FORGED:
            stage.checks.equal(
                "the file whose sidecar claims trust is rejected", outcome.state, "REJECTED"
            )
            stage.checks.that(
                "and the reason says so",
                any("sidecar-claims-trust" in reason for reason in outcome.reasons),
                outcome.reasons,
            )
        else:
            stage.checks.that(
                f"{'/'.join(key)} is published",
                outcome.ok,
                f"{outcome.state} {', '.join(outcome.reasons)}",
            )
    stage.record["drops"] = [
        {"tenant": key[0], "source_id": key[1], **outcome.as_json()}
        for key, outcome in outcomes.items()
    ]
    stage.show_checks()
    return {key: outcome.document_id or UNKNOWN for key, outcome in outcomes.items()}


def drop_again(stage: Stage, ids: Ids) -> None:
    stage.heading("3. A second version replaces the first")
    before = stage.client(MIRA).search("excess litres per second night flow leak job", k=5)
    outcomes = _drop(stage, corpus.second_versions(), "Waiting until the new version is published")
    _show_drops(stage, outcomes)
    after = stage.client(MIRA).search("excess litres per second night flow leak job", k=5)
    stage.show(*tables.search(after))
    was, now = _of(before["results"], ids[TWICE]), _of(after["results"], ids[TWICE])
    stage.checks.that(
        "the first version said 12 litres", any("12 litres" in e["text"] for e in was)
    )
    stage.checks.that("the second one says 9 litres", any("9 litres" in e["text"] for e in now))
    stage.checks.equal("only version 2 is served", {e["version"] for e in now}, {2})
    stage.checks.that(
        "nothing of the first version is left in the results",
        not any("12 litres" in e["text"] for e in after["results"]),
    )
    stage.show_checks()


def search_as_three(stage: Stage, ids: Ids) -> None:
    stage.heading("4. Three people ask the same thing")
    found: dict[Person, SearchResult] = {}
    for person in (MIRA, SVEN, INES):
        found[person] = stage.client(person).search(INCIDENT, k=5)
        groups = ", ".join(person.groups)
        stage.show("", text(f"{person} (groups {groups}): {INCIDENT}", "bold"))
        stage.show(*tables.search(found[person]))
    stage.record["searches"] = {str(person): result for person, result in found.items()}
    secret = ids[RESTRICTED]
    stage.checks.that(
        "sven, of the group safety, finds the incident report",
        bool(_of(found[SVEN]["results"], secret)),
    )
    stage.checks.that("mira, of the same tenant, does not", not _of(found[MIRA]["results"], secret))
    stage.checks.that("mira finds other documents", bool(found[MIRA]["results"]))
    lakeside = corpus.words("lakeside")
    foreign = {word for e in found[INES]["results"] for word in corpus.split(e["text"])} - lakeside
    stage.checks.that(
        "ines, of the other tenant, gets no word that isn't Lakeside's own",
        not foreign,
        sorted(foreign)[:5],
    )
    for person in (MIRA, INES):
        stage.checks.equal(
            f"asked for the report by its id, {person} is told that there is none",
            _status(partial(stage.client(person).get_document, secret)),
            404,
        )
    code = stage.client(MIRA).search("code word HERON-41 for urgent leak jobs", k=10)
    stage.checks.that(
        "Lakeside's code word is not found from Harbour Point",
        not any("HERON-41" in e["text"] for e in code["results"]),
    )
    theirs = stage.client(INES).search("code word HERON-41 for urgent leak jobs", k=10)
    stage.checks.that(
        "and is found from Lakeside", any("HERON-41" in e["text"] for e in theirs["results"])
    )
    for result in (*found.values(), code, theirs):
        _signed(stage, result["results"])
    stage.show_checks()


def meet_hostile_content(stage: Stage, ids: Ids) -> None:
    stage.heading("5. Active content is removed, and what tries to give orders is marked")
    found = stage.client(MIRA).search("issuing a boil water notice to customers", k=10)
    items = _of(found["results"], ids[ACTIVE_HTML])
    table = Table("passage", "signals")
    for item in items:
        table.add_row(text(tables.snippet(item["text"])), text(", ".join(item.get("signals", []))))
    stage.show(table)
    words = " ".join(item["text"] for item in items)
    stage.checks.that("the notice's procedure is found", "rolling boil" in words, words[:80])
    stage.checks.that(
        "no script, handler or frame is in it",
        not any(trace in words for trace in ("fetch(", "alert(", "track(", "collect.example")),
    )
    stage.checks.that("nothing hidden is in it", "only trusted page" not in words)
    signals = {signal for item in items for signal in item.get("signals", [])}
    stage.checks.that(
        "the planted instruction is signalled", "instruction-override" in signals, sorted(signals)
    )
    forged = stage.client(MIRA).search("premium dosing pumps switch off outlet analysers", k=10)
    stage.checks.that(
        "the forged bulletin is served to nobody", not _of(forged["results"], ids[FORGED])
    )
    pages = stage.client(MIRA).search("diesel generator on a power failure at the pumps", k=5)
    of_pdf = _of(pages["results"], ids[PDF])
    stage.checks.that(
        "the PDF is cited with its page", 2 in {item["page"] for item in of_pdf},
        [item["page"] for item in of_pdf],
    )  # fmt: skip
    stage.show_checks()


def ask(stage: Stage) -> None:
    stage.heading("6. The gate: enough evidence, or an abstention with reasons")
    answers: dict[str, Answer] = {}
    for question, verdict in ((ANSWERABLE, "answerable"), (UNANSWERABLE, "insufficient")):
        given = stage.client(MIRA).answer(question, k=5)
        answers[question] = given
        stage.show("", text(f"{MIRA}: {question}", "bold"), *tables.answer(given))
        stage.checks.equal(f"{question} is {verdict}", given["verdict"], verdict)
        stage.checks.that(
            "its reasons are told", bool(given["gate"]["reasons"]), given["gate"]["reasons"]
        )
        trace = stage.client(MIRA).get_answer(given["answer_id"])
        stage.checks.equal("its trace is kept", trace["gate"]["verdict"], given["verdict"])
    passed = answers[ANSWERABLE]
    stage.checks.that(
        "the first evidence says 0.6 mg/L",
        bool(passed["evidence"]) and "0.6 mg/L" in passed["evidence"][0]["text"],
    )
    stage.checks.equal(
        "another person can't read mira's trace",
        _status(partial(stage.client(INES).get_answer, passed["answer_id"])),
        404,
    )
    _signed(stage, passed["evidence"])
    stage.record["answers"] = answers
    stage.show_checks()


def check_the_chain(stage: Stage, ids: Ids) -> None:
    stage.heading("7. The chain of custody, checked with the public key alone")
    found = stage.client(MIRA).provenance(ids[PDF])
    try:
        statement = verify(found["envelope"], stage.stack.public_key())
    except ValueError as error:
        stage.checks.that("the statement's signature is the ingestion key's", False, error)
        stage.show_checks()
        return
    stage.checks.that("the statement's signature is the ingestion key's", True)
    original = next(d.item.path for d in corpus.first_versions() if d.key == PDF)
    table = Table(show_header=False, box=None)
    predicate = statement["predicate"]
    for name in ("tenant", "source", "connector", "document", "version", "parser", "chunker"):
        table.add_row(text(name, "bold"), text(predicate.get(name)))
    subject = statement["subject"][0]["digest"]["sha256"]
    table.add_row(text("sha-256", "bold"), text(subject))
    stage.show(table)
    stage.checks.equal(
        "it names the very bytes that were dropped", subject, sha256(original.read_bytes())
    )
    stage.checks.equal("and the tenant that they belong to", predicate.get("tenant"), "harbour")
    stage.record["statement"] = statement
    stage.show_checks()


def erase(stage: Stage, ids: Ids) -> None:
    stage.heading("8. A document is erased")
    mira = stage.client(MIRA)
    before = mira.search(PERMITS, k=10)
    stage.checks.that("the permit's holder is found before", "Odalys" in _words(before))
    writer = stage.client(PAT, "write", "erase")
    accepted = writer.delete_document(ids[ERASED], "the permit's holder asked for it")
    after = mira.search(PERMITS, k=10)
    stage.checks.that("the next search finds nothing of it", "Odalys" not in _words(after))
    with stage.teller.step("Waiting until every copy is gone"):
        receipt = writer.wait_for_erasure(accepted["erasure_id"], timeout=stage.timeout)
    stage.show(*tables.erasure(receipt))
    stage.checks.equal("the receipt is complete", receipt["state"], "COMPLETE")
    stage.checks.that(
        "each copy was looked at again and is gone",
        bool(receipt["artifacts"]) and {a["level"] for a in receipt["artifacts"]} == {"deleted"},
        [f"{a['location']}: {a['level']}" for a in receipt["artifacts"]],
    )
    stage.checks.equal(
        "asked for by its id, it does not exist",
        _status(partial(stage.client(SVEN).get_document, ids[ERASED])),
        404,
    )
    later = mira.search(PERMITS, k=10)
    stage.checks.that("and it stays gone", "Odalys" not in _words(later))
    stage.record["erasure"] = receipt
    stage.show_checks()


# --- helpers ------------------------------------------------------------------------------------


def _drop(
    stage: Stage, dropped: list[Dropped], doing: str
) -> dict[tuple[str, str, str], FileOutcome]:
    """Each tenant drops its own, and asks with its own token what became of it. The sources go at
    the same time, as they would in life."""
    groups: dict[tuple[str, str], list[Dropped]] = {}
    for one in dropped:
        groups.setdefault((one.tenant, one.source_id), []).append(one)
    outcomes: dict[tuple[str, str, str], FileOutcome] = {}
    with stage.teller.step(f"{doing} ({len(dropped)})"), ThreadPoolExecutor() as pool:
        running = {
            # Clients and stores are made here, not in the threads.
            pool.submit(
                through_drop,
                stage.client(WRITERS[tenant], "write"),
                stage.drop_box(tenant),
                source_id,
                [one.item for one in mine],
                Pace(timeout=stage.timeout),
                lambda _: None,
            ): mine
            for (tenant, source_id), mine in groups.items()
        }
        for future, mine in running.items():
            ended = future.result()
            outcomes |= {one.key: end for one, end in zip(mine, ended, strict=True)}
    return outcomes


def _show_drops(stage: Stage, outcomes: dict[tuple[str, str, str], FileOutcome]) -> None:
    table = Table("tenant", "source", "file", "state", "version", "seconds", "why")
    for (tenant, source_id, name), outcome in outcomes.items():
        table.add_row(
            text(tenant),
            text(source_id),
            text(name),
            text(outcome.state, "green" if outcome.ok else "red"),
            text(outcome.version),
            text(f"{outcome.seconds:.1f}"),
            text("; ".join(outcome.reasons)),
        )
    stage.show(table)


def _of(items: list[Evidence], document_id: str) -> list[Evidence]:
    return [item for item in items if item["document_id"] == document_id]


def _words(found: SearchResult) -> str:
    return " ".join(item["text"] for item in found["results"])


def _signed(stage: Stage, items: list[Evidence]) -> None:
    """Each item is VERIFIED and its digest is that of the text that was served."""
    for item in items:
        good = (
            item["provenance"]["outcome"] == "VERIFIED"
            and item["provenance"]["sha256"] == sha256(item["text"].encode())
            and bool(item["provenance"]["statement_id"])
        )
        if not good:
            stage.checks.that(f"{item['name']} is verified", False, item["provenance"])
            return
    stage.checks.that(f"{len(items)} served passages are verified, text and digest agree", True)


def _status(call: Callable[[], object]) -> int:
    """The status of a refusal; 200 when the call went through."""
    try:
        call()
    except CustodyApiError as error:
        return error.status
    return 200
