"""Every bad file gets a reject record with its reason, and no evidence."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass

import pytest
from reportlab.lib import pdfencrypt
from reportlab.pdfgen import canvas

from custody_client import CustodyApiError
from custody_client.types import Drop
from tests.e2e.bad_input.conftest import WORDS, Canary
from tests.support.service import until

TEXT, HTML, PDF = "text/plain", "text/html", "application/pdf"


def pdf(password: str | None = None) -> bytes:
    buffer = io.BytesIO()
    locked = pdfencrypt.StandardEncryption(password, strength=128) if password else None
    drawing = canvas.Canvas(buffer, invariant=1, encrypt=locked)
    drawing.drawString(72, 720, "The canary is an intruder.")
    drawing.save()
    return buffer.getvalue()


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("canary.txt", "The canary is an intruder.")
    return buffer.getvalue()


FILES: dict[str, tuple[bytes, str, str]] = {
    "zero.pdf": (b"", PDF, "empty-document"),
    "zero.txt": (b"", TEXT, "empty-document"),
    "blank.txt": (b" \n\t \n", TEXT, "empty-document"),
    "truncated.pdf": (pdf()[:400], PDF, "malformed-pdf"),
    "noise.pdf": (b"%PDF-1.7\n" + bytes(range(256)) * 20 + b"%%EOF", PDF, "malformed-pdf"),
    "locked.pdf": (pdf("secret"), PDF, "encrypted-pdf"),
    "zip.pdf": (archive(), PDF, "type-mismatch"),
    "page.md": (b"<!doctype html><p>The canary is an intruder.</p>", "text/markdown", "type-mismatch"),
    "program.exe": (b"MZ" + b"\x00" * 100, "application/x-msdownload", "type-not-supported"),
    "latin.txt": ("Der Kanarienvogel ist ein Störenfried.".encode("latin-1"), TEXT, "invalid-utf8"),
    "binary.txt": (b"canary\x00canary", TEXT, "type-mismatch"),
    "deep.html": (b"<div>" * 100_000 + b"canary", HTML, "document-too-complex"),
    "wide.html": (b"<p>canary</p>" * 500_000, HTML, "document-too-large"),
    "script.html": (b"<html><script>canary()</script></html>", HTML, "empty-document"),
    "half.json": (b'{"text": "canary"', "application/json", "malformed-json"),
    "nan.json": (b'{"text": "canary", "n": NaN}', "application/json", "malformed-json"),
    "deep.json": (b"[" * 100_000, "application/json", "document-too-complex"),
    "second.jsonl": (b'{"text": "canary"}\n{"text": \n', "application/x-ndjson", "malformed-json"),
    "line.txt": (b"canary " * 1_500_000, TEXT, "too-many-chunks"),
    "word.txt": (b"c" * 10_500_000, TEXT, "too-many-chunks"),
    "line.jsonl": (
        b'{"text": "' + b"canary " * 1_500_000 + b'"}\n', "application/x-ndjson", "too-many-chunks",
    ),
    "a//b.txt": (b"canary", TEXT, "invalid-path"),
    "up/../b.txt": (b"canary", TEXT, "invalid-path"),
    "./b.txt": (b"canary", TEXT, "invalid-path"),
    "bell\u0007.txt": (b"canary", TEXT, "invalid-path"),
}  # fmt: skip


@dataclass(frozen=True)
class Refused:
    canary: Canary
    before: dict[str, object]
    after: dict[str, object]
    drops: dict[str, Drop]


@pytest.fixture(scope="module")
def refused(canary: Canary) -> Refused:
    before = canary.seen()
    service = canary.service
    versions = {
        path: service.drop(canary.tenant, "wiki", path, content, kind)
        for path, (content, kind, _) in FILES.items()
    }
    drops = {
        path: service.dropped(canary.client, "wiki", path, version)
        for path, version in versions.items()
    }
    return Refused(canary, before, canary.seen(), drops)


@pytest.mark.parametrize("path", FILES)
def test_a_bad_file_is_kept_with_its_reason(refused: Refused, path: str) -> None:
    content, _, code = FILES[path]
    drop = refused.drops[path]
    assert (drop["state"], drop["reasons"]) == ("REJECTED", [code])
    service, bucket = refused.canary.service, refused.canary.service.state.bucket
    kept = f"rejected/{refused.canary.tenant}/wiki/{path}"
    copy = service.s3.get_object(Bucket=bucket, Key=kept)
    assert copy["ContentLength"] == len(content)
    reason = service.s3.get_object(Bucket=bucket, Key=f"{kept}.reason.json")["Body"].read()
    told = json.loads(reason)
    assert (told["reasons"], told["size"]) == ([code], len(content))
    assert told["detail"]


def test_bad_files_change_nothing_else(refused: Refused) -> None:
    assert refused.after == refused.before
    assert (
        refused.canary.client.answer("Where does the canary sing?")["evidence"][0]["text"] == WORDS
    )


def test_names_that_differ_only_in_their_escapes_are_files_of_their_own(canary: Canary) -> None:
    service = canary.service
    names = [
        "a b.txt",
        "a+b.txt",
        "a%20b.txt",
        "a%2Bb.txt",
        "%2e%2e/c.txt",
        "100%.txt",
        "é.txt",
        "日本.txt",
    ]
    service.source(canary.tenant, "names")
    versions = {
        name: service.drop(canary.tenant, "names", name, f"Finch of {name!r}.".encode(), TEXT)
        for name in names
    }
    ids = {}
    for name, version in versions.items():
        drop = service.dropped(canary.client, "names", name, version)
        assert drop["state"] == "ACTIVE", (name, drop)
        ids[name] = drop["document_id"]
    assert len(set(ids.values())) == len(names)
    found = canary.client.search("finch", source_ids=["names"], k=50)
    assert {r["name"]: r["text"] for r in found["results"]} == {
        n: f"Finch of {n!r}." for n in names
    }


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("incoming/Not-A-Tenant/wiki/a.txt", "unknown-source"),
        ("incoming/../wiki/a.txt", "unknown-source"),
        ("incoming/{tenant}/..%2fwiki/a.txt", "unknown-source"),
        ("incoming/{tenant}/a.txt", "invalid-path"),
    ],
)
def test_a_key_of_no_source_is_kept_apart(canary: Canary, key: str, code: str) -> None:
    key = key.format(tenant=canary.tenant)
    before = canary.seen()
    service = canary.service
    service.put_object(key, b"The canary is an intruder.", TEXT)
    kept = "rejected/" + key.removeprefix("incoming/") + ".reason.json"

    def reasons() -> list[str] | None:
        for row in service.keys(kept):
            read = service.s3.get_object(Bucket=service.state.bucket, Key=row.rpartition("@")[0])[
                "Body"
            ].read()
            found: list[str] = json.loads(read)["reasons"]
            return found
        return None

    assert until(f"the reason for {key}", reasons) == [code]
    assert canary.seen() == before


def test_a_bad_file_over_the_api_is_refused_and_leaves_what_was_there(canary: Canary) -> None:
    """Which step finds it out decides only whether the reply or the document tells."""
    before = canary.seen()
    for content, kind, code in (
        (pdf("secret"), PDF, "encrypted-pdf"),
        (pdf()[:400], PDF, "malformed-pdf"),
        (b"<div>" * 50_000, HTML, "document-too-complex"),
        (b"caf\xe9", TEXT, "invalid-utf8"),
    ):
        try:
            reply = canary.client.put_document("canary", "wiki", content, kind)
        except CustodyApiError as error:
            assert (error.status, error.code) == (422, code)  # noqa: PT017
            continue
        assert reply["state"] in {"REJECTED", "PENDING"}
        document = canary.client.wait_for_document("canary", version=reply["version"])
        newest = next(v for v in document["versions"] if v["version"] == reply["version"])
        assert (newest["state"], newest["reasons"]) == ("REJECTED", [code])
    after = canary.seen()
    assert after["results"] == before["results"]
    assert canary.client.get_document("canary")["version"] == 1
