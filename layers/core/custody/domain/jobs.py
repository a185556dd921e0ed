"""Messages on the queues. Each names what to do by reference: no text travels on a queue.

A body is one flat JSON object: ``kind``, ``tenant``, ``document_id`` (or ``build_id``, where the
job is about an index) and the job's own fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from custody.domain import strict_json
from custody.domain.model import BuildKey, DocumentKey
from custody.errors import IntegrityError


@dataclass(frozen=True, slots=True)
class ParseJob:
    key: DocumentKey
    version: int


@dataclass(frozen=True, slots=True)
class EmbedJob:
    """Chunks ``first`` to ``last`` (exclusive, at most 32 of them) are part number ``part``."""

    key: DocumentKey
    version: int
    part: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PublishJob:
    """``acl_revision`` above 0: only the ACL of that live version changes."""

    key: DocumentKey
    version: int
    acl_revision: int = 0


@dataclass(frozen=True, slots=True)
class RejectJob:
    """Close a PENDING version that a step refused. ``reasons``: codes, one to eight of them."""

    key: DocumentKey
    version: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EraseJob:
    """Propagate one erasure to everything derived from the document up to ``through_version``.
    ``name``: the path of the drop that an erased object was seen under again, where the receipt is
    complete and has forgotten it."""

    key: DocumentKey
    erasure_id: str
    through_version: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class CleanupJob:
    """Take one superseded version out of the index."""

    key: DocumentKey
    version: int


@dataclass(frozen=True, slots=True)
class RebuildJob:
    """Go on with the build of an index, from where its record says that it is."""

    key: BuildKey


@dataclass(frozen=True, slots=True)
class IndexJob:
    """Put one version into the indices of other models than the one that it came with."""

    key: DocumentKey
    version: int


type Job = (
    ParseJob | EmbedJob | PublishJob | RejectJob | EraseJob | CleanupJob | RebuildJob | IndexJob
)

_KINDS: Mapping[str, type[Job]] = {
    "parse": ParseJob,
    "embed": EmbedJob,
    "publish": PublishJob,
    "reject": RejectJob,
    "erase": EraseJob,
    "cleanup": CleanupJob,
    "rebuild": RebuildJob,
    "index": IndexJob,
}
_KEYS: Mapping[type[Job], type[BuildKey]] = {RebuildJob: BuildKey}
"""What a job is about where that is no document."""
_NAMES: Mapping[type[Job], str] = {kind: name for name, kind in _KINDS.items()}
_FROM_ONE = frozenset({"version"})
_OPTIONAL = frozenset({"name"})
_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST_CODES, _LONGEST_CODE = 8, 64


def kind_of(job: Job) -> str:
    """The kind under which a body names it."""
    return _NAMES[type(job)]


def encode(job: Job) -> str:
    own = {field.name: getattr(job, field.name) for field in fields(job) if field.name != "key"}
    return json.dumps(
        {"kind": kind_of(job), **job.key._asdict(), **own},
        ensure_ascii=False,
        separators=(",", ":"),
    )


def decode(body: str) -> Job:
    """Raises IntegrityError(malformed-job) on anything but exactly what ``encode`` writes."""
    try:
        message = strict_json.read(body)
    except strict_json.NotStrict as error:
        raise _malformed("no JSON") from error
    if not isinstance(message, dict):
        raise _malformed("no object")
    name = message.pop("kind", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _malformed("an unknown kind")
    own = [field for field in fields(kind) if field.name != "key"]
    about = _KEYS.get(kind, DocumentKey)
    if set(message) != set(about._fields) | {field.name for field in own}:
        raise _malformed("other fields than its kind has")
    for field in own:
        if field.name == "reasons":
            message["reasons"] = _codes(message["reasons"])
        elif message[field.name] is not None or field.name not in _OPTIONAL:
            _check(field.name, message[field.name], number=field.type == "int")
    named = {name: message.pop(name) for name in about._fields}
    for name, value in named.items():
        _check(name, value, number=False)
    key: Any = about(**named)
    return kind(key=key, **message)


def _check(name: str, value: object, *, number: bool) -> None:
    if number:
        least = 1 if name in _FROM_ONE else 0
        if type(value) is not int or value < least:
            raise _malformed(f"a wrong {name}")
    elif not isinstance(value, str) or not value:
        raise _malformed(f"a wrong {name}")


def _codes(value: object) -> tuple[str, ...]:
    """Codes and nothing else: a text could be a document's."""
    if not isinstance(value, list) or not 1 <= len(value) <= _MOST_CODES:
        raise _malformed("wrong reasons")
    for code in value:
        if not isinstance(code, str) or len(code) > _LONGEST_CODE or _CODE.fullmatch(code) is None:
            raise _malformed("wrong reasons")
    return tuple(value)


def _malformed(what: str) -> IntegrityError:
    return IntegrityError(f"The job has {what}.", code="malformed-job")
