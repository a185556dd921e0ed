"""What a person names on the command line, as the files and rows that will be ingested.

Everything is read and checked here before anything is sent: a path that isn't there, a broken
JSON line or two files with one name end the command, and nothing was written.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b32encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from custody_cli.errors import CommandError, usage

SIDECAR = ".metadata.json"
#: The service's limit for one object.
MAX_FILE_BYTES: Final = 50 * 1024 * 1024
CONTENT_TYPES: Final[Mapping[str, str]] = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": "application/pdf",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
    ".csv": "text/csv",
}
JSON_LINES: Final = frozenset({".jsonl", ".ndjson"})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_TEXT_NAMES = ("text", "contents", "content")
_OWN_NAMES = ("title", "acl", "valid_from", "valid_to", "observed_at")


@dataclass(frozen=True, slots=True)
class FileItem:
    """``name`` is the drop's path below its source; ``sidecar`` goes with it."""

    path: Path
    name: str
    content_type: str
    size: int
    sidecar: Path | None = None


@dataclass(frozen=True, slots=True)
class RowItem:
    """One line of a JSON lines file. ``name`` is ``<file>:<line>``."""

    name: str
    document_id: str
    text: str
    title: str | None = None
    acl: tuple[str, ...] | None = None
    times: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str | int | float | bool | list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """``skipped``: files of folders whose type isn't ingested."""

    files: tuple[FileItem, ...]
    skipped: tuple[str, ...]


def collect(paths: Sequence[Path]) -> Found:
    """Raises CommandError (exit code 2)."""
    files: dict[str, FileItem] = {}
    skipped: list[str] = []
    for path in paths:
        for one, name, named in _walk(path):
            if _is_sidecar(one):
                if named and not _subject(one).is_file():
                    raise usage(f"{one} is a sidecar, and its file is not beside it.")
                continue
            kind = CONTENT_TYPES.get(one.suffix.lower())
            if kind is None:
                if named:
                    raise usage(
                        f"{one} is of no type that is ingested.",
                        f"Types: {' '.join(CONTENT_TYPES)}.",
                    )
                skipped.append(str(one))
                continue
            item = _file(one, name, kind)
            former = files.setdefault(name, item)
            if former.path.resolve() != one.resolve():
                raise usage(
                    f"{former.path} and {one} would both become {name}.",
                    "Ingest them from a folder that holds both, or one after the other.",
                )
    if not files:
        raise usage("There is nothing to ingest there.", f"Types: {' '.join(CONTENT_TYPES)}.")
    return Found(tuple(files.values()), tuple(skipped))


def _walk(path: Path) -> Iterator[tuple[Path, str, bool]]:
    """(file, name, whether it was named itself); hidden files of folders are left out."""
    if path.is_file():
        yield path, path.name, True
        return
    if not path.is_dir():
        raise CommandError(2, "no-such-path", f"{path} is neither a file nor a folder.")
    for one in sorted(path.rglob("*")):
        relative = one.relative_to(path)
        if one.is_file() and not any(part.startswith(".") for part in relative.parts):
            yield one, relative.as_posix(), False


def _is_sidecar(path: Path) -> bool:
    return path.name.endswith(SIDECAR) and path.name != SIDECAR


def _subject(sidecar: Path) -> Path:
    return sidecar.with_name(sidecar.name.removesuffix(SIDECAR))


def _file(path: Path, name: str, kind: str) -> FileItem:
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise usage(f"{path} is larger than {MAX_FILE_BYTES // 2**20} MB.", "Split it.")
    sidecar = path.with_name(path.name + SIDECAR)
    return FileItem(path, name, kind, size, sidecar if sidecar.is_file() else None)


def rows(item: FileItem) -> list[RowItem]:
    """The rows of one JSON lines file. Raises CommandError with the first line at fault."""
    found: dict[str, RowItem] = {}
    with item.path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{item.name}:{number}"
            try:
                row = _row(line, where)
            except ValueError as error:
                raise usage(f"{where}: {error}.", "Nothing was sent.") from error
            if row.document_id in found:
                raise usage(f"{where}: the id {row.document_id} stands twice.", "Nothing was sent.")
            found[row.document_id] = row
    if not found:
        raise usage(f"{item.path} holds no rows.")
    return list(found.values())


def _row(line: bytes, where: str) -> RowItem:
    value = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    if not isinstance(value, dict):
        raise ValueError("the line is no JSON object")
    identifier = next((value.pop(n) for n in ("id", "_id", "document_id") if n in value), None)
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        raise ValueError("the row needs an id")
    document_id = str(identifier)
    if _ID.fullmatch(document_id) is None:
        raise ValueError("an id is 1 to 128 of A-Z a-z 0-9 . _ : - from a letter or digit on")
    text = next((value.pop(name) for name in _TEXT_NAMES if name in value), None)
    if not isinstance(text, str) or not text.strip():
        raise ValueError("the row needs a text")
    own = {name: value.pop(name) for name in _OWN_NAMES if value.get(name) is not None}
    nested = value.pop("metadata", {})
    if not isinstance(nested, dict):
        raise ValueError("metadata is a JSON object")
    title = own.get("title")
    if title is not None and not isinstance(title, str):
        raise ValueError("a title is a string")
    return RowItem(
        name=where,
        document_id=document_id,
        text=text,
        title=title or None,
        acl=_acl(own.get("acl")),
        times={name: str(own[name]) for name in _OWN_NAMES[2:] if name in own},
        metadata=_metadata({**value, **nested}),
    )


def _acl(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, dict) and set(value) == {"allow"}:
        value = value["allow"]
    if not isinstance(value, list) or not all(isinstance(term, str) for term in value):
        raise ValueError("an ACL is a list of terms")
    return tuple(value)


def _metadata(values: Mapping[str, object]) -> dict[str, str | int | float | bool | list[str]]:
    clean: dict[str, str | int | float | bool | list[str]] = {}
    for name, value in values.items():
        if isinstance(value, str | int | float) or (
            isinstance(value, list) and all(isinstance(one, str) for one in value)
        ):
            clean[name] = value
        elif value is not None:
            raise ValueError(f"{name} is no string, number, boolean or list of strings")
    return clean


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def document_id(name: str) -> str:
    """The id of a file that goes through the API: its path, with colons for slashes where that is
    an id, else a readable part of it and a digest of the whole."""
    if ":" not in name:
        simple = name.replace("/", ":")
        if _ID.fullmatch(simple):
            return simple
    digest = b32encode(hashlib.sha256(name.encode()).digest()).decode().lower()[:16]
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:80]
    return f"{readable}-{digest}" if readable else f"file-{digest}"
