import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from custody.domain.model import (
    Acl,
    DocumentKey,
    Head,
    Inspection,
    ObjectRef,
    Source,
    SourceKey,
    VersionRecord,
    VersionState,
)
from custody.domain.provenance import statement
from custody.domain.provenance.canonical import canonical_json
from custody.errors import IntegrityError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RECORD = VersionRecord(
    key=DocumentKey("acme", "wiki:one"),
    version=3,
    source_id="wiki",
    name="one.md",
    state=VersionState.PENDING,
    content_type="text/markdown",
    content_sha256="ab" * 32,
    raw=ObjectRef("raw/acme/x/3", "v1"),
    acl=Acl.of("group:staff"),
    title="The secret title",
    metadata={"team": "the secret team"},
    observed_at=NOW - timedelta(days=1, microseconds=5),
    valid_from=NOW,
    parser="markdown-it-py 4.3.0",
    chunker="semantic-text-splitter 0.33.1",
    inspection=Inspection("cd" * 32, signals=("instruction-override",), suspicious=True),
)
SOURCE = Source(SourceKey("acme", "wiki"), "internal", ("user:ci",))


def payload(record: VersionRecord = RECORD, **changes: Any) -> bytes:
    values: dict[str, Any] = {
        "chunk_root": "ef" * 32,
        "chunk_count": 7,
        "acl": record.acl,
        "acl_revision": 0,
        "signed_at": NOW,
        "supersedes": 2,
    }
    return statement.build(record, SOURCE, **(values | changes))


def test_what_is_built_is_what_is_read() -> None:
    read = statement.parse(payload())
    assert read == statement.Statement(
        statement_id=statement.statement_id(payload()),
        key=RECORD.key,
        version=3,
        content_sha256="ab" * 32,
        source_id="wiki",
        connector="api",
        acl_digest=statement.acl_digest(RECORD.acl),
        acl_revision=0,
        media_type="text/markdown",
        parser="markdown-it-py 4.3.0",
        chunker="semantic-text-splitter 0.33.1",
        chunk_root="ef" * 32,
        chunk_count=7,
        observed_at=RECORD.observed_at,
        valid_from=NOW,
        valid_to=None,
        signed_at=NOW,
        supersedes=2,
        signals=("instruction-override",),
    )


def test_the_payload_is_an_in_toto_statement_about_the_version_s_content() -> None:
    value = json.loads(payload())
    assert value["_type"] == "https://in-toto.io/Statement/v1"
    assert value["subject"] == [{"name": "acme/wiki:one@3", "digest": {"sha256": "ab" * 32}}]
    assert value["predicateType"] == "urn:custody:evidence:v1"


def test_a_statement_holds_no_text() -> None:
    assert b"secret" not in payload()
    assert b"group:staff" not in payload()
    assert b"one.md" not in payload()


def test_equal_rights_have_equal_digests() -> None:
    assert statement.acl_digest(Acl(("b", "a", "b"))) == statement.acl_digest(Acl.of("a", "b"))
    assert statement.acl_digest(Acl.of("a")) != statement.acl_digest(Acl.of("a", "b"))


@pytest.mark.parametrize(
    "record",
    [replace(RECORD, parser=None), replace(RECORD, chunker=None), replace(RECORD, source_id="x")],
    ids=["not parsed", "not chunked", "another source"],
)
def test_nothing_incomplete_is_stated(record: VersionRecord) -> None:
    with pytest.raises(IntegrityError) as caught:
        payload(record)
    assert caught.value.code == "statement-incomplete"


def test_a_statement_without_chunks_is_refused() -> None:
    with pytest.raises(IntegrityError) as caught:
        payload(chunk_count=0)
    assert caught.value.code == "statement-incomplete"


def _changed(*path: str | int, to: object) -> bytes:
    value: Any = json.loads(payload())
    at = value
    for step in path[:-1]:
        at = at[step]
    if to is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return canonical_json(value)


@pytest.mark.parametrize(
    "data",
    {
        "no JSON": b"\xff",
        "not canonical": json.dumps(json.loads(payload())).encode(),
        "a list": b"[]",
        "another type": _changed("_type", to="https://in-toto.io/Statement/v0.1"),
        "another predicate": _changed("predicateType", to="https://slsa.dev/provenance/v1"),
        "an extra member": _changed("extra", to=1),
        "an extra claim": _changed("predicate", "trusted", to=True),
        "a claim too few": _changed("predicate", "tenant", to=...),
        "two subjects": _changed("subject", to=json.loads(payload())["subject"] * 2),
        "a subject of another version": _changed("subject", 0, "name", to="acme/wiki:one@4"),
        "a digest in capitals": _changed("subject", 0, "digest", "sha256", to="AB" * 32),
        "a short root": _changed("predicate", "chunks", "root", to="ef"),
        "no chunks": _changed("predicate", "chunks", "count", to=0),
        "true for a number": _changed("predicate", "acl", "revision", to=True),
        "a time without an offset": _changed("predicate", "signedAt", to="2026-03-01T12:00:00"),
        "no signing time": _changed("predicate", "signedAt", to=None),
        "signals that are no list": _changed("predicate", "signals", to="x"),
        "an empty source": _changed("predicate", "source", to=""),
    }.items(),
    ids=lambda item: item[0],
)
def test_a_statement_is_read_strictly(data: tuple[str, bytes]) -> None:
    with pytest.raises(IntegrityError) as caught:
        statement.parse(data[1])
    assert caught.value.code == "malformed-statement"


LIVE = Head(
    key=RECORD.key,
    source_id="wiki",
    name="one.md",
    revision=5,
    version=3,
    accepted_version=3,
    acl=RECORD.acl,
    state=VersionState.ACTIVE,
    content_sha256="ab" * 32,
    chunk_root="ef" * 32,
    chunk_count=7,
    statement_id=statement.statement_id(payload()),
    observed_at=RECORD.observed_at,
    valid_from=NOW,
)


@pytest.mark.parametrize(
    "change",
    [
        {"statement_id": "cd" * 32},
        {"key": DocumentKey("acme", "wiki:two")},
        {"key": DocumentKey("other", "wiki:one")},
        {"source_id": "other"},
        {"version": 4},
        {"content_sha256": "cd" * 32},
        {"acl": Acl.of("everyone")},
        {"acl_revision": 1},
        {"chunk_root": "cd" * 32},
        {"chunk_count": 8},
        {"observed_at": None},
        {"valid_from": None},
        {"valid_to": NOW},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_statement_describes_a_head_that_agrees_in_every_claim(change: dict[str, Any]) -> None:
    read = statement.parse(payload())
    assert statement.describes(read, LIVE)
    assert not statement.describes(read, replace(LIVE, **change))
