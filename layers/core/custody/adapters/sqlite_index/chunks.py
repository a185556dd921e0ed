"""Writing and removing chunks, with every count that depends on them, inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from custody.domain.index.candidates import IndexEntry, Vector
from custody.domain.index.document import decode, encode
from custody.domain.index.metadata_match import ordered_values, tags
from custody.domain.model import Acl
from custody.domain.text.analysis import searched_terms


def put(connection: sqlite3.Connection, space: int, entry: IndexEntry, vector: Vector) -> None:
    """Add or replace by chunk id; nothing is touched where it is there already as it is."""
    document = encode(entry)
    payload = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    blob = vector.tobytes()
    old = connection.execute(
        "SELECT c.id, p.entry, v.vector FROM chunks c JOIN payloads p ON p.id = c.id"
        " JOIN vectors v ON v.id = c.id WHERE c.space = ? AND c.chunk_id = ?",
        (space, entry.chunk_id),
    ).fetchone()
    if old is not None:
        if old[1:] == (payload, blob):
            return
        remove(connection, space, [old[0]])
    terms = searched_terms(entry.title, entry.heading, entry.text)
    chunk = connection.execute(
        "INSERT INTO chunks (space, chunk_id, document_id, version, source_id, trust_domain,"
        " observed_at, valid_from, valid_to, recorded_from, recorded_through, length)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            space,
            entry.chunk_id,
            entry.key.document_id,
            entry.version,
            entry.source_id,
            entry.trust_domain,
            document["observed_at"],
            document["valid_from"],
            document["valid_to"],
            document["recorded_from"],
            document["recorded_through"],
            len(terms),
        ),
    ).lastrowid
    line = " ".join(terms)
    connection.execute("INSERT INTO payloads VALUES (?, ?, ?)", (chunk, payload, line))
    connection.execute("INSERT INTO vectors VALUES (?, ?, ?)", (chunk, space, blob))
    connection.executemany(
        "INSERT INTO acl VALUES (?, ?, ?)", [(space, term, chunk) for term in set(entry.acl)]
    )
    connection.executemany(
        "INSERT INTO tags VALUES (?, ?, ?)", [(space, tag, chunk) for tag in tags(entry.metadata)]
    )
    connection.executemany(
        "INSERT INTO ordered VALUES (?, ?, ?, ?)",
        [(chunk, value.key, value.number, value.time) for value in ordered_values(entry.metadata)],
    )
    if terms:
        connection.execute(
            f"INSERT INTO terms_{space:d} (rowid, terms) VALUES (?, ?)",  # noqa: S608 - an integer
            (chunk, line),
        )
        _count(connection, space, 1, len(terms))


def remove(connection: sqlite3.Connection, space: int, ids: Sequence[int]) -> None:
    for chunk in ids:
        row = connection.execute(
            "SELECT p.terms, c.length FROM payloads p JOIN chunks c ON c.id = p.id WHERE p.id = ?",
            (chunk,),
        ).fetchone()
        line, length = row
        if length:
            # A table without text of its own must be told what to forget.
            connection.execute(
                f"INSERT INTO terms_{space:d} (terms_{space:d}, rowid, terms)"  # noqa: S608 - integers
                " VALUES ('delete', ?, ?)",
                (chunk, line),
            )
            _count(connection, space, -1, -length)
        for table in ("acl", "tags", "ordered", "vectors", "payloads", "chunks"):
            connection.execute(
                f"DELETE FROM {table} WHERE id = ?",  # noqa: S608 - one of the names above
                (chunk,),
            )


def expunge_terms(connection: sqlite3.Connection, space: int) -> None:
    """FTS5 only marks what is deleted until its segments are merged: merge them now."""
    connection.execute(
        f"INSERT INTO terms_{space:d} (terms_{space:d}) VALUES ('optimize')"  # noqa: S608 - integers
    )


def set_acl(connection: sqlite3.Connection, space: int, chunk: int, acl: Acl) -> None:
    payload = connection.execute("SELECT entry FROM payloads WHERE id = ?", (chunk,)).fetchone()[0]
    entry = replace(decode(json.loads(payload)), acl=acl.allow)
    connection.execute(
        "UPDATE payloads SET entry = ? WHERE id = ?",
        (json.dumps(encode(entry), ensure_ascii=False, separators=(",", ":")), chunk),
    )
    connection.execute("DELETE FROM acl WHERE id = ?", (chunk,))
    connection.executemany(
        "INSERT INTO acl VALUES (?, ?, ?)", [(space, term, chunk) for term in set(acl.allow)]
    )


def _count(connection: sqlite3.Connection, space: int, chunks: int, terms: int) -> None:
    connection.execute(
        "UPDATE spaces SET searchable = searchable + ?, terms = terms + ? WHERE id = ?",
        (chunks, terms, space),
    )
