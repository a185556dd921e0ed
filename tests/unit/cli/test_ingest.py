from __future__ import annotations

import json
from pathlib import Path

import pytest

from custody_cli.sources_on_disk import document_id
from tests.support.fake_api import BUCKET, FakeApi, problem
from tests.unit.cli.conftest import FakeStack, Run, RunJson


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("# Gate\n\nThe sluice gate.")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b c+d.txt").write_text("The bypass.")
    (tmp_path / "a.md.metadata.json").write_text('{"metadataAttributes": {"title": "T"}}')
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.md").write_text("hidden")
    return tmp_path


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_folder_is_dropped_with_its_sidecars_and_waited_for(
    stack: FakeStack, api: FakeApi, folder: Path, run_json: RunJson
) -> None:
    code, told = run_json("ingest", str(folder), "--source", "notes")
    assert code == 0
    assert told["via"] == "drop"
    assert told["counts"] == {"ACTIVE": 2}
    assert [one["name"] for one in told["files"]] == ["a.md", "deep/b c+d.txt"]
    assert [Path(one).name for one in told["skipped"]] == ["picture.png"]
    puts = [seen.path for seen in api.seen if seen.method == "PUT"]
    prefix = f"/{BUCKET}/incoming/local/notes/"
    assert puts == [
        f"{prefix}a.md.metadata.json",  # before its file
        f"{prefix}a.md",
        f"{prefix}deep/b c+d.txt",
    ]
    assert api.documents[told["files"][0]["document_id"]]["text"].startswith("# Gate")
    assert stack.minted[0]["scopes"] == ["custody/read", "custody/write"]


def test_a_rejected_drop_is_1_with_its_reason(
    stack: FakeStack, api: FakeApi, folder: Path, run: Run, run_json: RunJson
) -> None:
    api.rejected_names["a.md"] = ["sidecar-claims-trust"]
    code, told = run_json("ingest", str(folder), "--source", "notes")
    assert code == 1
    assert told["counts"] == {"ACTIVE": 1, "REJECTED": 1}
    shown = run("ingest", str(folder), "--source", "notes")
    assert shown.exit_code == 1
    assert "sidecar-claims-trust" in shown.stdout


def test_what_is_still_pending_at_the_end_is_1(
    stack: FakeStack, api: FakeApi, folder: Path, run_json: RunJson
) -> None:
    api.never_published.add("a.md")
    code, told = run_json("ingest", str(folder), "--source", "notes", "--timeout", "1")
    assert code == 1
    assert told["counts"] == {"ACTIVE": 1, "PENDING": 1}


def test_a_second_drop_is_not_taken_for_the_first(
    stack: FakeStack, api: FakeApi, folder: Path, run_json: RunJson
) -> None:
    run_json("ingest", str(folder), "--source", "notes")
    (folder / "a.md").write_text("# Gate\n\nThe new gate.")
    code, told = run_json("ingest", str(folder / "a.md"), "--source", "notes")
    assert code == 0
    assert told["files"][0]["version"] == 2


def test_rows_become_documents_through_the_api(
    stack: FakeStack, api: FakeApi, tmp_path: Path, run_json: RunJson
) -> None:
    file = lines(
        tmp_path / "rows.jsonl",
        {"id": "r1", "text": "one", "title": "One", "year": 2026, "tags": ["a", "b"]},
        {"_id": 7, "contents": "seven", "acl": {"allow": ["group:x"]}, "metadata": {"k": True}},
    )
    code, told = run_json("ingest", str(file), "--source", "notes", "--via", "api")
    assert code == 0
    assert [(one["name"], one["document_id"]) for one in told["files"]] == [
        ("rows.jsonl:1", "r1"),
        ("rows.jsonl:2", "7"),
    ]
    sent = {seen.json["document_id"]: seen.json for seen in api.calls("POST", "/v1/documents")}
    assert sent["r1"]["title"] == "One"
    assert sent["r1"]["metadata"] == {"year": 2026, "tags": ["a", "b"]}
    assert sent["r1"]["content_type"] == "text/plain"
    assert sent["7"]["acl"] == {"allow": ["group:x"]}
    assert sent["7"]["metadata"] == {"k": True}


def test_a_whole_json_lines_file_can_be_one_drop(
    stack: FakeStack, api: FakeApi, tmp_path: Path, run_json: RunJson
) -> None:
    file = lines(tmp_path / "rows.jsonl", {"id": "r1", "text": "one"})
    code, told = run_json("ingest", str(file), "--source", "notes", "--via", "drop")
    assert (code, told["files"][0]["name"]) == (0, "rows.jsonl")


def test_files_through_the_api_keep_their_path_and_bytes(
    stack: FakeStack, api: FakeApi, tmp_path: Path, run_json: RunJson
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.txt").write_bytes(b"caf\xe9")
    code, told = run_json(
        "ingest", str(tmp_path), "--source", "notes", "--via", "api", "--allow", "group:x"
    )
    assert code == 0
    assert told["files"][0]["document_id"] == "deep:a.txt"
    (sent,) = api.calls("POST", "/v1/documents")
    assert sent.json["content_base64"] == "Y2Fm6Q=="
    assert sent.json["acl"] == {"allow": ["group:x"]}


def test_a_big_file_goes_through_a_presigned_upload(
    stack: FakeStack, api: FakeApi, tmp_path: Path, run_json: RunJson
) -> None:
    (tmp_path / "big.txt").write_text("sluice " * 700_000)
    code, told = run_json("ingest", str(tmp_path), "--source", "notes", "--via", "api")
    assert (code, told["files"][0]["state"]) == (0, "ACTIVE")
    assert len(api.calls("PUT", "/upload/notes/big.txt")) == 1
    assert api.calls("POST", "/v1/documents") == []


def test_one_refused_row_does_not_stop_the_others(
    stack: FakeStack, api: FakeApi, tmp_path: Path, run_json: RunJson
) -> None:
    rows = [{"id": f"r{n}", "text": f"text {n}"} for n in range(5)]
    api.scripted.append(problem(409, "document-owned-elsewhere", "Owned.", "document_id"))
    code, told = run_json(
        "ingest", str(lines(tmp_path / "r.jsonl", *rows)), "--source", "notes", "--via", "api",
        "--jobs", "1",
    )  # fmt: skip
    assert code == 1
    assert told["counts"] == {"ACTIVE": 4, "REFUSED": 1}
    assert "document-owned-elsewhere (document_id): Owned." in told["files"][0]["reasons"]


@pytest.mark.parametrize(("status", "code"), [(401, 1), (403, 1), (503, 2)])
def test_a_refusal_of_the_caller_or_an_outage_ends_it(
    stack: FakeStack, api: FakeApi, tmp_path: Path, run_json: RunJson, status: int, code: int
) -> None:
    rows = [{"id": f"r{n}", "text": f"text {n}"} for n in range(30)]
    refusal = problem(status, "no-more")
    api.scripted.extend([type(refusal)(status, refusal.body, {"retry-after": "0"})] * 400)
    ended, told = run_json(
        "ingest", str(lines(tmp_path / "r.jsonl", *rows)), "--source", "notes", "--via", "api",
        "--jobs", "1",
    )  # fmt: skip
    assert (ended, told["error"]["code"]) == (code, "no-more")
    assert len({seen.body for seen in api.calls("POST", "/v1/documents")}) < 5


def test_a_source_is_put_where_it_is_missing_and_asked_for(
    stack: FakeStack, api: FakeApi, folder: Path, run_json: RunJson, run: Run
) -> None:
    code, _ = run_json("ingest", str(folder), "--source", "fresh", "--create-source")
    assert code == 0
    assert api.sources["fresh"]["writers"] == ["user:me"]
    assert api.sources["fresh"]["default_acl"] == {"allow": ["tenant:local"]}
    assert "custody/govern" in stack.minted[0]["scopes"]
    puts = len(api.calls("PUT", "/v1/sources/fresh"))
    run_json("ingest", str(folder), "--source", "fresh", "--create-source")
    assert len(api.calls("PUT", "/v1/sources/fresh")) == puts == 1


@pytest.mark.parametrize("way", ["drop", "api"])
def test_a_source_that_is_not_there_is_told_at_once(
    stack: FakeStack, api: FakeApi, folder: Path, run: Run, way: str
) -> None:
    result = run("ingest", str(folder / "deep"), "--source", "none", "--via", way)
    assert result.exit_code == 1
    assert "source-not-found" in result.output
    assert api.drops == {}
    assert api.documents == {}


def test_a_source_of_other_writers_takes_no_drop(
    stack: FakeStack, api: FakeApi, folder: Path, run: Run
) -> None:
    api.scripted.append(problem(403, "not-a-writer", "The caller is no writer of this source."))
    result = run("ingest", str(folder / "deep"), "--source", "notes")
    assert result.exit_code == 1
    assert "not-a-writer" in result.stderr
    assert api.drops == {}


def test_a_source_is_never_put_on_another_deployment(
    monkeypatch: pytest.MonkeyPatch, no_stack: FakeStack, api: FakeApi, folder: Path, run: Run
) -> None:
    monkeypatch.setenv("CUSTODY_API_URL", api.url)
    monkeypatch.setenv("CUSTODY_TOKEN", "t")
    result = run("ingest", str(folder / "deep"), "--source", "fresh", "--create-source")
    assert result.exit_code == 2
    assert "fresh" not in api.sources


def test_dropping_elsewhere_needs_the_bucket_and_the_tenant(
    monkeypatch: pytest.MonkeyPatch, no_stack: FakeStack, api: FakeApi, folder: Path, run: Run
) -> None:
    monkeypatch.setenv("CUSTODY_API_URL", api.url)
    monkeypatch.setenv("CUSTODY_TOKEN", "t")
    result = run("ingest", str(folder), "--source", "notes", "--via", "drop")
    assert result.exit_code == 2
    assert "CUSTODY_BUCKET" in result.stderr


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b'{"id": "a", "text": "x"}\n{"id": "b"', "r.jsonl:2"),
        (b'{"id": "a", "text": "x"}\n[1]\n', "r.jsonl:2"),
        (b'{"text": "x"}\n', "needs an id"),
        (b'{"id": true, "text": "x"}\n', "needs an id"),
        (b'{"id": "a"}\n', "needs a text"),
        (b'{"id": "a", "text": 5}\n', "needs a text"),
        (b'{"id": "a b", "text": "x"}\n', "an id is"),
        (b'{"id": "a", "text": "x", "n": NaN}\n', "NaN"),
        (b'{"id": "a", "text": "x", "n": {"deep": 1}}\n', "n is no string"),
        (b'{"id": "a", "text": "x", "acl": "group:x"}\n', "list of terms"),
        (b'{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n', "stands twice"),
        (b'{"id": "a", "text": "\xff"}\n', "r.jsonl:1"),
        (b"\n\n", "holds no rows"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_sent(
    stack: FakeStack, api: FakeApi, tmp_path: Path, run: Run, content: bytes, word: str
) -> None:
    (tmp_path / "r.jsonl").write_bytes(content)
    result = run("ingest", str(tmp_path / "r.jsonl"), "--source", "notes", "--via", "api")
    assert result.exit_code == 2
    assert word in result.stderr
    assert api.seen == []


def test_what_is_not_there_or_of_no_known_type_is_2(
    stack: FakeStack, api: FakeApi, folder: Path, run: Run
) -> None:
    empty = folder / "empty"
    empty.mkdir()
    for path in (folder / "none", folder / "picture.png", empty):
        assert run("ingest", str(path), "--source", "notes").exit_code == 2
    assert run("ingest", "--source", "notes").exit_code == 2
    assert run("ingest", str(folder)).exit_code == 2
    assert api.seen == []


def test_two_files_of_one_name_are_refused(
    stack: FakeStack, api: FakeApi, tmp_path: Path, run: Run
) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(name)
    result = run("ingest", str(tmp_path / "x"), str(tmp_path / "y"), "--source", "notes")
    assert result.exit_code == 2
    assert api.seen == []


def test_a_sidecar_is_never_left_behind_silently(
    stack: FakeStack, api: FakeApi, folder: Path, run: Run
) -> None:
    result = run("ingest", str(folder), "--source", "notes", "--via", "api")
    assert result.exit_code == 2
    assert "--via drop" in result.stderr
    (folder / "lonely.md.metadata.json").write_text("{}")
    named = run("ingest", str(folder / "lonely.md.metadata.json"), "--source", "notes")
    assert named.exit_code == 2
    assert api.seen == []


def test_an_acl_with_a_drop_is_refused_and_not_ignored(
    stack: FakeStack, api: FakeApi, folder: Path, run: Run
) -> None:
    result = run("ingest", str(folder), "--source", "notes", "--allow", "group:x")
    assert result.exit_code == 2
    assert api.seen == []


def test_without_a_terminal_stderr_stays_quiet(
    stack: FakeStack, api: FakeApi, folder: Path, run: Run
) -> None:
    result = run("ingest", str(folder / "deep"), "--source", "notes")
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.md", "a.md"), ("deep/er/a.md", "deep:er:a.md")],
)
def test_a_plain_path_is_its_own_id(name: str, expected: str) -> None:
    assert document_id(name) == expected


def test_paths_that_are_no_ids_get_different_ids() -> None:
    names = ["a b.md", "a+b.md", "a:b.md", "a/b.md", ".x", "ü.md", "日本.md", "x" * 300, "-a", "/"]
    ids = {document_id(name) for name in names}
    assert len(ids) == len(names)
    assert all(len(one) <= 128 and one[0].isalnum() and "/" not in one for one in ids)
