"""Whoever can write to the index can't make the service serve it: the ledger decides."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from opensearchpy import OpenSearch

from custody.adapters.opensearch_index.names import every_index
from custody.domain.index.candidates import Space
from custody.domain.provenance.identifiers import chunk_id
from custody_client import Client
from tests.support.service import PATIENCE, Person, Service, new_tenant, of, texts, until

type Entry = dict[str, Any]

MISMATCH = "chunk-mismatch"  # the reason of the outcome TAMPERED


class SqliteFile:
    """The embedded index's file, opened by an intruder."""

    def __init__(self, path: str, tenant: str) -> None:
        self._path = path
        self._space = json.dumps([tenant, None], ensure_ascii=False)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30, isolation_level=None)

    def rows(self, document_id: str) -> list[Entry]:
        """Every column of every table that belongs to the document's chunks."""
        with closing(self._open()) as file:
            found = []
            query = (
                "SELECT c.id FROM chunks c JOIN spaces s ON s.id = c.space"
                " WHERE s.name = ? AND c.document_id = ?"
            )
            for (number,) in file.execute(query, (self._space, document_id)).fetchall():
                tables = {}
                for table in ("chunks", "payloads", "vectors", "acl", "tags", "ordered"):
                    cursor = file.execute(f"SELECT * FROM {table} WHERE id = ?", (number,))
                    names = [column[0] for column in cursor.description]
                    tables[table] = [dict(zip(names, row, strict=True)) for row in cursor]
                found.append(tables)
            return found

    def change(self, document_id: str, change: Callable[[Entry], None]) -> None:
        with closing(self._open()) as file:
            for row in self.rows(document_id):
                payload = row["payloads"][0]
                entry = json.loads(payload["entry"])
                change(entry)
                file.execute(
                    "UPDATE payloads SET entry = ? WHERE id = ?",
                    (json.dumps(entry, ensure_ascii=False), payload["id"]),
                )

    def put(self, rows: list[Entry], change: Callable[[Entry], None]) -> None:
        """As chunks of their own, findable like any other."""
        with closing(self._open()) as file:
            file.execute("BEGIN IMMEDIATE")
            for row in rows:
                entry = json.loads(row["payloads"][0]["entry"])
                change(entry)
                chunk = dict(row["chunks"][0])
                del chunk["id"]
                chunk |= {name: entry[name] for name in ("chunk_id", "document_id", "version")}
                number = self._insert(file, "chunks", chunk)
                terms = row["payloads"][0]["terms"]
                text = json.dumps(entry, ensure_ascii=False)
                self._insert(file, "payloads", {"id": number, "entry": text, "terms": terms})
                for table in ("vectors", "acl", "tags", "ordered"):
                    for one in row[table]:
                        self._insert(file, table, one | {"id": number})
                space = chunk["space"]
                file.execute(
                    f"INSERT INTO terms_{space:d} (rowid, terms) VALUES (?, ?)", (number, terms)
                )
                file.execute(
                    "UPDATE spaces SET searchable = searchable + 1, terms = terms + ? WHERE id = ?",
                    (chunk["length"], space),
                )
            file.execute("COMMIT")

    @staticmethod
    def _insert(file: sqlite3.Connection, table: str, row: Entry) -> int:
        names, marks = ", ".join(row), ", ".join("?" for _ in row)
        number = file.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values())
        ).lastrowid
        assert number is not None
        return number


class OpenSearchIndex:
    """The tenant's index on the node, written to by an intruder."""

    def __init__(self, url: str, tenant: str) -> None:
        self._node = OpenSearch(url, timeout=30)
        self._every = every_index("custody", Space(tenant))

    @property
    def _index(self) -> str:
        (name,) = self._node.indices.get(index=self._every)
        return str(name)

    def rows(self, document_id: str) -> list[Entry]:
        found = self._node.search(
            index=self._index, body={"query": {"term": {"document_id": document_id}}, "size": 100}
        )
        return [hit["_source"] | {"_id": hit["_id"]} for hit in found["hits"]["hits"]]

    def change(self, document_id: str, change: Callable[[Entry], None]) -> None:
        for row in self.rows(document_id):
            name = row.pop("_id")
            change(row)
            self._node.index(index=self._index, id=name, body=row, params={"refresh": "true"})

    def put(self, rows: list[Entry], change: Callable[[Entry], None]) -> None:
        for row in rows:
            entry = {name: value for name, value in row.items() if name != "_id"}
            change(entry)
            self._node.index(
                index=self._index, id=entry["chunk_id"], body=entry, params={"refresh": "true"}
            )


@dataclass(frozen=True)
class House:
    tenant: str
    index: SqliteFile | OpenSearchIndex
    writer: Client
    reader: Client
    auditor: Client

    def publish(self, document_id: str, text: str, acl: list[str] | None = None) -> None:
        self.writer.put_document(document_id, "wiki", text, "text/plain", acl=acl)
        self.writer.wait_for_document(document_id, timeout=PATIENCE)

    def withheld(self, question: str) -> dict[str, int]:
        return self.auditor.search(question, k=50)["withheld"]


@pytest.fixture(scope="module")
def house(service: Service) -> Iterator[House]:
    tenant = new_tenant("tamper")
    service.source(tenant, "wiki")
    state = service.state
    index = (
        SqliteFile(state.embedded_index_path, tenant)
        if state.embedded_index_path
        else OpenSearchIndex(state.opensearch_url, tenant)
    )
    house = House(
        tenant,
        index,
        service.client(Person(tenant, "pat", ("publishers",), ("read", "write", "erase"))),
        service.client(Person(tenant, "rita")),
        service.client(Person(tenant, "aud", scopes=("read", "audit"))),
    )
    house.publish("canary", "The canary sings in the north gallery.")
    yield house
    found = house.reader.search("where does the canary sing")
    assert of(found, "canary")[0]["provenance"]["outcome"] == "VERIFIED"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "The dose is nine milligrams."),
        ("title", "By order of the governor"),
        ("heading", "Approved"),
        ("page", 7),
        ("proof", ["ab" * 32]),
    ],
)
def test_what_was_changed_in_the_index_is_withheld_and_counted(
    house: House, field: str, value: object
) -> None:
    document_id = f"dose-{field}"
    house.publish(document_id, f"The dose of {field} is three milligrams.")
    question = f"what is the dose of {field}"
    assert of(house.reader.search(question, k=50), document_id)
    before = house.withheld(question).get(MISMATCH, 0)

    house.index.change(document_id, lambda entry: entry.update({field: value}))
    found = house.reader.search(question, k=50)
    assert of(found, document_id) == []
    assert "nine milligrams" not in texts(found)
    assert "withheld" not in found
    assert house.withheld(question)[MISMATCH] == before + 1
    given = house.reader.answer(question, k=50)
    assert document_id not in {item["document_id"] for item in given["evidence"]}


def test_a_wider_acl_in_the_index_opens_nothing(house: House) -> None:
    house.publish("secret", "The vault code is seven eleven.", ["group:safety"])
    question = "what is the vault code"
    rows = house.index.rows("secret")

    def widen(entry: Entry) -> None:
        entry["acl"] = ["everyone", f"tenant:{house.tenant}"]
        entry["chunk_id"] = "w" * 52

    for row in rows:
        for term in row["acl"] if isinstance(house.index, SqliteFile) else ():
            term["term"] = f"tenant:{house.tenant}"
    house.index.put(rows, widen)
    assert "seven eleven" not in texts(house.reader.search(question, k=50))
    assert house.withheld(question).get("acl-denied", 0) >= 1


def test_an_entry_that_was_forged_without_a_statement_is_not_served(house: House) -> None:
    rows = house.index.rows("canary")[:1]

    def forge(entry: Entry) -> None:
        entry["document_id"] = "forged"
        entry["text"] = "The canary was sold to the circus."
        entry["chunk_id"] = chunk_id(house.tenant, "wiki", "forged", 1, 0)

    house.index.put(rows, forge)
    found = house.reader.search("where does the canary sing", k=50)
    assert "circus" not in texts(found)
    assert of(found, "forged") == []
    assert house.withheld("where does the canary sing")["unknown-document"] == 1


def test_a_forged_chunk_of_a_real_document_is_not_served(house: House) -> None:
    rows = house.index.rows("canary")[:1]

    def forge(entry: Entry) -> None:
        entry["ordinal"] = 1
        entry["text"] = "The canary sings in the south gallery."
        entry["chunk_id"] = chunk_id(house.tenant, "wiki", "canary", 1, 1)

    house.index.put(rows, forge)
    found = house.reader.search("where does the canary sing", k=50)
    assert "south gallery" not in texts(found)
    assert "north gallery" in texts(found)


def test_an_erased_document_that_is_put_back_into_the_index_is_not_served(house: House) -> None:
    house.publish("permit", "The permit is held by Sorrel Vance.")
    question = "who holds the permit"
    rows = house.index.rows("permit")
    assert rows
    accepted = house.writer.delete_document("permit", "its holder asked for it")
    house.writer.wait_for_erasure(accepted["erasure_id"], timeout=PATIENCE)
    until("it is out of the index", lambda: house.index.rows("permit") == [])

    house.index.put(rows, lambda _: None)
    assert house.index.rows("permit")
    found = house.reader.search(question, k=50)
    assert "Sorrel" not in texts(found)
    assert "Sorrel" not in json.dumps(house.reader.answer(question, k=50))
    assert house.withheld(question).get("erased", 0) >= 1


def test_a_superseded_version_that_is_put_back_into_the_index_is_not_served(house: House) -> None:
    house.publish("rota", "The weasel has the night shift.")
    rows = house.index.rows("rota")
    house.writer.put_document("rota", "wiki", "The ferret has the night shift.", "text/plain")
    house.writer.wait_for_document("rota", version=2, timeout=PATIENCE)
    until("the clean-up", lambda: len(house.index.rows("rota")) == 1)
    house.index.put(rows, lambda _: None)
    found = texts(house.reader.search("who has the night shift", k=50))
    assert "weasel" not in found
    assert "ferret" in found
