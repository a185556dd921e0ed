"""The file: its tables, and connections to it.

A row of ``spaces`` is one index of a space: there may be several (``generations``). One FTS5 table
each holds the analysed terms, so that no statistic is shared between tenants. It
stores no text of its own (``content=''``); its tokenizer only splits at spaces. FTS5's own bm25()
is not used: it knows neither the statistics of two spaces together nor Lucene's idf.
"""

from __future__ import annotations

import os
import sqlite3
import string
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from custody.errors import ConfigurationError, Unavailable

_CHECKPOINT_PAUSE_S = 0.005

SCHEMA_VERSION = 3

# Every column that a filter looks at is in `chunks` or a side table; what a hit shows is one JSON
# text in `payloads`. AUTOINCREMENT: an id is never used again, so vectors may be cached by it.
_SCHEMA = """
CREATE TABLE identity (name TEXT NOT NULL);
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    model_revision TEXT NOT NULL,
    generation TEXT NOT NULL,
    served INTEGER NOT NULL,
    dimensions INTEGER NOT NULL,
    analysis_version TEXT NOT NULL,
    searchable INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (name, model_revision, generation)
);
CREATE UNIQUE INDEX one_served ON spaces (name, model_revision) WHERE served;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    space INTEGER NOT NULL REFERENCES spaces (id),
    chunk_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    source_id TEXT NOT NULL,
    trust_domain TEXT NOT NULL,
    observed_at INTEGER,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    recorded_from INTEGER NOT NULL,
    recorded_through INTEGER NOT NULL,
    length INTEGER NOT NULL,
    UNIQUE (space, chunk_id)
);
CREATE INDEX chunks_by_document ON chunks (space, document_id, version);
CREATE INDEX chunks_to_filter ON chunks (
    space, length, valid_from, valid_to, source_id, trust_domain, observed_at,
    recorded_from, recorded_through
);
CREATE TABLE payloads (id INTEGER PRIMARY KEY, entry TEXT NOT NULL, terms TEXT NOT NULL);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, space INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE INDEX vectors_by_space ON vectors (space, id);
CREATE TABLE acl (
    space INTEGER NOT NULL, term TEXT NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (space, term, id)
) WITHOUT ROWID;
CREATE INDEX acl_by_chunk ON acl (id);
CREATE TABLE tags (
    space INTEGER NOT NULL, tag TEXT NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (space, tag, id)
) WITHOUT ROWID;
CREATE INDEX tags_by_chunk ON tags (id);
CREATE TABLE ordered (id INTEGER NOT NULL, key TEXT NOT NULL, number REAL, time INTEGER);
CREATE INDEX ordered_by_chunk ON ordered (id, key);
"""

# A term is whatever stands between two spaces, whichever characters it has.
_TOKENIZER = "ascii tokenchars '" + string.punctuation.replace("'", "''") + "'"


def create_term_index(connection: sqlite3.Connection, space: int) -> None:
    tokenizer = _TOKENIZER.replace('"', '""')
    connection.execute(
        f"CREATE VIRTUAL TABLE terms_{space:d} USING"
        f" fts5(terms, content='', columnsize=0, tokenize=\"{tokenizer}\")"
    )
    connection.execute(
        f"CREATE VIRTUAL TABLE postings_{space:d} USING fts5vocab(terms_{space:d}, instance)"
    )


def drop_term_index(connection: sqlite3.Connection, space: int) -> None:
    connection.execute(f"DROP TABLE postings_{space:d}")
    connection.execute(f"DROP TABLE terms_{space:d}")


def index_unavailable(detail: str) -> Unavailable:
    return Unavailable(f"The index can't answer: {detail}.", code="index-unavailable")


class Database:
    """Connections to one file, one a running call, kept for the next. Safe for threads, and for a
    process that was forked after the first use."""

    def __init__(self, path: str, *, busy_timeout_s: float) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._of_parent: list[sqlite3.Connection] = []
        self._owner = os.getpid()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot for everything that is read."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The only writer, or Unavailable when another one keeps the lock too long."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def truncate_log(self) -> None:
        """Fold the write-ahead log into the file and empty it: what was deleted is in neither.
        Raises Unavailable when a reader holds on to an old snapshot."""
        end = time.monotonic() + self._busy_timeout_s
        while True:
            with self._connection() as connection:
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return
            # SQLite waits for readers and writers, but not where another checkpoint is running.
            if time.monotonic() >= end:
                raise index_unavailable(
                    "a reader still holds what was deleted; repeat the deletion"
                )
            time.sleep(_CHECKPOINT_PAUSE_S)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._connection() as connection:
            connection.execute(begin)
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._take()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.Error as fault:
            raise index_unavailable(type(fault).__name__) from fault

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._owner != os.getpid():
                # SQLite's handles must not cross a fork; closing them here would drop the parent's
                # locks, so they are left alone.
                self._of_parent, self._idle = self._idle, []
                self._owner = os.getpid()
            if self._idle:
                return self._idle.pop()
        return self._open()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            self._idle.append(connection)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=self._busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if _version(connection) == SCHEMA_VERSION:
            return
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        version = _version(connection)  # another process may have been faster
        if version == 0:
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute("INSERT INTO identity VALUES (?)", (uuid.uuid4().hex,))
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")
        connection.execute("COMMIT")
        if version not in (0, SCHEMA_VERSION):
            raise ConfigurationError(
                f"The index file has schema {version}; this program reads {SCHEMA_VERSION}.",
                code="index-schema",
            )


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
