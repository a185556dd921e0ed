"""What is the embedded index's own: its file, its locks, and many processes."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from custody.adapters.sqlite_index import SqliteIndex
from custody.domain.index.candidates import LegHits, Space
from custody.domain.index.document import encode
from custody.domain.model import Acl, DocumentKey, Leg
from custody.errors import ConfigurationError, Unavailable
from tests.support.evidence import DIMENSIONS, MODEL, entry, fill, lexical, query, semantic, unit

ACME = Space("acme")


def stored_bytes(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))


def test_deleted_text_and_vectors_are_in_neither_the_file_nor_its_log(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    index = SqliteIndex(str(path))
    secret = entry(
        "secretdocument",
        text="xylophonesecret " * 50,
        title="Quetzalcoatl",
        metadata={"k": "metadatasecret"},
        acl=["user:aclsecret"],
    )
    kept = [entry(f"d{n}", text=f"keepsake number{n}") for n in range(50)]
    fill(index, ACME, [*kept[:25], secret, *kept[25:]])
    index.set_acl(ACME, secret.key, 1, Acl.of("user:aclother"))
    assert secret.vector is not None
    traces = [
        b"secretdocument", b"xylophonesecret", b"xylophonesecret"[:9], b"Quetzalcoatl", b"quetzalcoatl",
        b"metadatasecret", b"aclsecret", b"aclother", secret.chunk_id.encode(), secret.vector.tobytes(),
    ]  # fmt: skip
    before = stored_bytes(path)
    assert all(trace in before for trace in traces)
    index.delete(ACME, secret.key)
    after = stored_bytes(path)
    assert [trace for trace in traces if trace in after] == []
    assert b"keepsake" in after
    assert len(index.search(query(ACME, text="keepsake"))[Leg.LEXICAL]) == 50
    index.close()


def test_a_deletion_that_a_reader_holds_up_is_no_success(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    index = SqliteIndex(str(path), busy_timeout_s=0.2)
    fill(index, ACME, [entry("a", text="fox")])
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM chunks").fetchone()
    with pytest.raises(Unavailable) as refused:
        index.delete(ACME, DocumentKey("acme", "a"))
    assert refused.value.code == "index-unavailable"
    assert index.search(query(ACME, text="fox")) == LegHits()  # gone for searches all the same
    reader.execute("COMMIT")
    reader.close()
    index.delete(ACME, DocumentKey("acme", "a"))
    assert b"fox" not in stored_bytes(path)
    index.close()


def test_deletions_at_the_same_time_wait_for_each_others_end(tmp_path: Path) -> None:
    index = SqliteIndex(str(tmp_path / "index.db"), busy_timeout_s=30)
    fill(index, ACME, [entry("a", text="fox")])
    faults: list[Exception] = []

    def delete(worker: int) -> None:
        try:
            for _ in range(60):
                index.delete(ACME, DocumentKey("acme", f"none-{worker}"))
        except Unavailable as fault:
            faults.append(fault)

    threads = [threading.Thread(target=delete, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    index.close()


def test_a_writer_that_keeps_the_lock_makes_writes_unavailable_and_not_reads(
    tmp_path: Path,
) -> None:
    path = tmp_path / "index.db"
    index = SqliteIndex(str(path), busy_timeout_s=0.2)
    fill(index, ACME, [entry("a", text="fox")])
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    calls: tuple[Callable[[], object], ...] = (
        lambda: index.put(ACME, [entry("b")]),
        lambda: index.delete(ACME, DocumentKey("acme", "a")),
        lambda: index.set_acl(ACME, DocumentKey("acme", "a"), 1, Acl.of("user:x")),
    )
    for call in calls:
        with pytest.raises(Unavailable) as refused:
            call()
        assert refused.value.code == "index-unavailable"
    assert lexical(index.search(query(ACME, text="fox"))) == ["a"]
    writer.execute("ROLLBACK")
    writer.close()
    index.put(ACME, [entry("b", text="fox")])
    assert len(index.search(query(ACME, text="fox"))[Leg.LEXICAL]) == 2
    index.close()


@pytest.mark.parametrize("damage", ["not a database", "truncated", "overwritten"])
def test_a_damaged_file_is_unavailable_and_never_empty(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "index.db"
    index = SqliteIndex(str(path))
    fill(index, ACME, [entry(f"d{n}", text=f"fox {n} " * 40) for n in range(200)])
    index.delete(ACME, DocumentKey("acme", "d0"))  # everything is in the file now
    index.close()
    content = path.read_bytes()
    if damage == "not a database":
        path.write_bytes(b"something else" * 1_000)
    elif damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.write_bytes(content[:8192] + b"\xa5" * (len(content) - 8192))
    broken = SqliteIndex(str(path))
    with pytest.raises(Unavailable) as refused:
        broken.search(query(ACME, text="fox", vector=unit(1)))
    assert refused.value.code == "index-unavailable"
    broken.close()


@pytest.mark.parametrize(
    "payload",
    [
        "{",
        "[]",
        "{}",
        "null",
        json.dumps({**encode(entry("a")), "valid_to": 1 << 60}),
        json.dumps({**encode(entry("a")), "text": None}),
        json.dumps({**encode(entry("a")), "acl": [["everyone"]]}),
        json.dumps({**encode(entry("a")), "metadata": {"a": {"b": 1}}}),
        json.dumps(encode(entry("c", text="fox"))),
    ],
)
def test_an_entry_that_is_none_is_left_out_and_counted(tmp_path: Path, payload: str) -> None:
    path = tmp_path / "index.db"
    index = SqliteIndex(str(path))
    fill(index, ACME, [entry("a", text="fox"), entry("b", text="fox")])
    vandal = sqlite3.connect(path, isolation_level=None)
    vandal.execute("UPDATE payloads SET entry = ? WHERE id = 1", (payload,))
    vandal.close()
    found = index.search(query(ACME, text="fox", vector=unit(3)))
    assert lexical(found) == semantic(found) == ["b"]
    assert found.unreadable == {Leg.LEXICAL: 1, Leg.SEMANTIC: 1}
    index.close()


def test_a_folder_that_does_not_exist_is_unavailable(tmp_path: Path) -> None:
    index = SqliteIndex(str(tmp_path / "none" / "index.db"))
    with pytest.raises(Unavailable):
        index.ping()


def test_a_file_of_another_schema_is_a_wrong_configuration(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ConfigurationError) as refused:
        SqliteIndex(str(path)).ping()
    assert refused.value.code == "index-schema"


def test_what_another_process_wrote_or_deleted_is_seen_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    one, other = SqliteIndex(path), SqliteIndex(path)
    fill(one, ACME, [entry("a", text="fox"), entry("b", text="fox")])
    asked = query(ACME, text="fox", vector=unit(5))
    assert set(semantic(other.search(asked))) == {"a", "b"}
    one.put(ACME, [entry("c", text="fox")])
    one.delete(ACME, DocumentKey("acme", "a"))
    assert set(semantic(other.search(asked))) == set(lexical(other.search(asked))) == {"b", "c"}
    # The same chunk with another vector must not be answered from what was read before.
    moved = entry("b", text="fox", vector=unit(77))
    one.put(ACME, [moved])
    nearest = other.search(query(ACME, vector=unit(77)))[Leg.SEMANTIC][0]
    assert nearest.entry.key.document_id == "b"
    assert nearest.score == pytest.approx(1.0, abs=1e-6)
    one.close()
    other.close()


def test_a_file_made_anew_at_the_same_place_shares_nothing_with_the_old(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    index = SqliteIndex(str(path))
    fill(index, ACME, [entry("old", vector=unit(1))])
    assert semantic(index.search(query(ACME, vector=unit(1)))) == ["old"]
    index.close()
    for file in path.parent.glob("index.db*"):
        file.unlink()
    fill(index, ACME, [entry("new", vector=unit(2))])
    assert index.search(query(ACME, vector=unit(2)))[Leg.SEMANTIC][0].score == pytest.approx(1.0)
    index.close()


def _write(path: str, worker: int, done: multiprocessing.Queue[int]) -> None:
    index = SqliteIndex(path, busy_timeout_s=60.0)
    index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
    for n in range(15):
        index.put(ACME, [entry(f"w{worker}", ordinal=n, text="fox")])
        found = index.search(query(ACME, text="fox", vector=unit(worker), depth=200))
        done.put(len(found[Leg.SEMANTIC]) == len(found[Leg.LEXICAL]) >= n)
    index.close()


def test_many_processes_write_and_search_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    context = multiprocessing.get_context("spawn")
    done: multiprocessing.Queue[int] = context.Queue()
    processes = [context.Process(target=_write, args=(path, n, done)) for n in range(3)]
    for process in processes:
        process.start()
    answers = [done.get(timeout=120) for _ in range(45)]
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert all(answers)
    index = SqliteIndex(path)
    assert [index.count(ACME, DocumentKey("acme", f"w{n}")) for n in range(3)] == [15] * 3
    assert len(index.search(query(ACME, text="fox", depth=200))[Leg.LEXICAL]) == 45
    index.close()
