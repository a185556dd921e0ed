"""The indices of a space in the file: found, made, served and dropped, inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

from custody.adapters.sqlite_index.database import (
    SCHEMA_VERSION,
    create_term_index,
    drop_term_index,
    index_unavailable,
)
from custody.domain.index.candidates import Space
from custody.domain.index.generations import Generation
from custody.domain.index.rules import model_mismatch
from custody.domain.text.analysis import ANALYSIS_VERSION
from custody.errors import IntegrityError


class StoredSpace(NamedTuple):
    """One index of a space, a row of ``spaces``."""

    id: int
    model_revision: str
    generation: str
    served: int  # 1 or 0
    dimensions: int
    analysis_version: str
    searchable: int  # chunks that have a term
    terms: int  # occurrences of terms in all of them

    @property
    def name(self) -> str:
        return f"{self.model_revision}#{self.generation}"

    def told(self) -> Generation:
        return Generation(
            name=self.name,
            model_revision=self.model_revision,
            dimensions=self.dimensions,
            mapping_version=f"sqlite-{SCHEMA_VERSION}",
            analysis_version=self.analysis_version,
            served=bool(self.served),
        )


def space_name(space: Space) -> str:
    parts = [space.tenant, space.source_id, *(["history"] if space.history else [])]
    return json.dumps(parts, ensure_ascii=False)


def indices_of(connection: sqlite3.Connection, space: Space) -> list[StoredSpace]:
    """All of them, the oldest first."""
    rows = connection.execute(
        "SELECT id, model_revision, generation, served, dimensions, analysis_version, searchable,"
        " terms FROM spaces WHERE name = ? ORDER BY id",
        (space_name(space),),
    )
    return [StoredSpace(*row) for row in rows]


def served_index(
    connection: sqlite3.Connection, space: Space, model_revision: str | None
) -> StoredSpace | None:
    """None where the space has no index at all. Raises IntegrityError(model-revision-mismatch)
    where those it has are of other revisions, or not served yet."""
    found = indices_of(connection, space)
    for stored in found:
        if stored.served and stored.model_revision == model_revision:
            return stored
    if found:
        raise model_mismatch(found[0].model_revision, model_revision)
    return None


def writable_indices(
    connection: sqlite3.Connection, space: Space, model_revision: str
) -> list[StoredSpace]:
    """Those of the revision, one at least."""
    found = indices_of(connection, space)
    if not found:
        raise index_unavailable("the space was never made")
    mine = [stored for stored in found if stored.model_revision == model_revision]
    if not mine:
        raise model_mismatch(found[0].model_revision, model_revision)
    for stored in mine:
        check_analysis(stored)
    return mine


def index_named(connection: sqlite3.Connection, space: Space, name: str) -> StoredSpace | None:
    return next((each for each in indices_of(connection, space) if each.name == name), None)


def there(connection: sqlite3.Connection, space: Space, name: str) -> StoredSpace:
    stored = index_named(connection, space, name)
    if stored is None:
        raise index_unavailable("an index is gone")
    return stored


def check_analysis(stored: StoredSpace) -> None:
    if stored.analysis_version != ANALYSIS_VERSION:
        raise IntegrityError(
            "The index was made with another analysis of text: it must be rebuilt.",
            code="index-mapping-mismatch",
        )


def make(
    connection: sqlite3.Connection,
    space: Space,
    *,
    generation: str,
    model_revision: str,
    dimensions: int,
    served: bool,
) -> None:
    number = connection.execute(
        "INSERT INTO spaces (name, model_revision, generation, served, dimensions,"
        " analysis_version) VALUES (?, ?, ?, ?, ?, ?)",
        (space_name(space), model_revision, generation, served, dimensions, ANALYSIS_VERSION),
    ).lastrowid
    if number is None:
        raise index_unavailable("a space could not be made")
    create_term_index(connection, number)


def serve(connection: sqlite3.Connection, space: Space, name: str) -> None:
    wanted = there(connection, space, name)
    connection.execute(
        "UPDATE spaces SET served = 0 WHERE name = ? AND model_revision = ? AND id <> ?",
        (space_name(space), wanted.model_revision, wanted.id),
    )
    connection.execute("UPDATE spaces SET served = 1 WHERE id = ?", (wanted.id,))


def drop(connection: sqlite3.Connection, stored: StoredSpace) -> None:
    drop_term_index(connection, stored.id)
    of_chunks = "SELECT id FROM chunks WHERE space = ?"
    for table in ("payloads", "ordered"):
        connection.execute(
            f"DELETE FROM {table} WHERE id IN ({of_chunks})",  # noqa: S608 - one of the names above
            (stored.id,),
        )
    for table in ("acl", "tags", "vectors", "chunks"):
        connection.execute(
            f"DELETE FROM {table} WHERE space = ?",  # noqa: S608 - one of the names above
            (stored.id,),
        )
    connection.execute("DELETE FROM spaces WHERE id = ?", (stored.id,))
