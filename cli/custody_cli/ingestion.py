"""Sends files and rows, and waits until each is published, rejected or out of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Protocol

from custody_cli.sources_on_disk import FileItem, RowItem, document_id
from custody_client import CustodyApiError, CustodyTimeoutError

if TYPE_CHECKING:
    from custody_client import Client
    from custody_client.types import Drop, MetadataValue, PutDocumentResult

#: Above this a file goes through a presigned upload: base64 must fit into a 6 MB body.
LARGEST_BODY = 4 * 1024 * 1024
FINAL = frozenset({"ACTIVE", "REJECTED", "REMOVED"})
#: What a refusal of one file means for all others: the caller itself is refused.
HOPELESS = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file or row. ``state``: ACTIVE, REJECTED, PENDING (out of time) or
    REFUSED (the service took nothing in)."""

    name: str
    state: str
    document_id: str | None = None
    version: int | None = None
    unchanged: bool = False
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.state == "ACTIVE"

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class DropBox(Protocol):
    def put(self, source_id: str, item: FileItem) -> str | None:
        """Put the sidecar, then the file; the file's version id."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds to wait for everything, and the clock that measures them."""

    timeout: float = 300.0
    jobs: int = 4
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic


# --- through the drop ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Waiting:
    item: FileItem
    version_id: str | None
    since: float


class DropLookup(Protocol):
    """Of a ``Client``, what waiting for drops asks."""

    def find_drop(self, name: str, source_id: str) -> Drop | None: ...


def through_drop(
    client: DropLookup,
    box: DropBox,
    source_id: str,
    items: Sequence[FileItem],
    pace: Pace,
    advance: Callable[[int], None],
) -> list[FileOutcome]:
    """Drop all, then ask for each until it has an end. In the order of ``items``."""
    waiting: list[_Waiting] = []
    for item in items:
        version_id = box.put(source_id, item)
        waiting.append(_Waiting(item, version_id, pace.monotonic()))
        advance(1)
    end = pace.monotonic() + pace.timeout
    done: dict[str, FileOutcome] = {}
    last: dict[str, Drop] = {}
    pause = 0.3
    while waiting:
        still: list[_Waiting] = []
        for one in waiting:
            drop = client.find_drop(one.item.name, source_id)
            if drop is not None and _is_ours(drop, one.version_id):
                last[one.item.name] = drop
                if drop["state"] in FINAL:
                    done[one.item.name] = _dropped(one, drop, pace)
                    advance(1)
                    continue
            still.append(one)
        waiting = still
        if waiting and pace.monotonic() >= end:
            break
        if waiting:
            pace.sleep(pause)
            pause = min(pause * 1.5, 2.0)
    for one in waiting:
        done[one.item.name] = _out_of_time(one, last.get(one.item.name), pace)
    return [done[item.name] for item in items]


def _is_ours(drop: Drop, version_id: str | None) -> bool:
    """What became of an earlier object of the same name isn't what became of this one."""
    theirs = drop.get("object_version")
    return version_id is None or theirs is None or theirs == version_id


def _dropped(one: _Waiting, drop: Drop, pace: Pace) -> FileOutcome:
    return FileOutcome(
        name=one.item.name,
        state=drop["state"],
        document_id=drop.get("document_id"),
        version=drop.get("version") or None,
        reasons=tuple(drop.get("reasons", [])),
        seconds=round(pace.monotonic() - one.since, 3),
    )


def _out_of_time(one: _Waiting, drop: Drop | None, pace: Pace) -> FileOutcome:
    if drop is None:
        reason = "the service has not seen the object yet"
        return FileOutcome(one.item.name, "PENDING", reasons=(reason,))
    return replace(_dropped(one, drop, pace), state="PENDING")


# --- through the API ----------------------------------------------------------------------------


def through_api(
    client: Client,
    source_id: str,
    items: Iterable[FileItem | RowItem],
    allow: Sequence[str] | None,
    pace: Pace,
    advance: Callable[[int], None],
) -> list[FileOutcome]:
    """A few at a time. In the order of ``items``. A refusal of the caller ends it all."""
    todo = list(items)
    outcomes: list[FileOutcome | None] = [None] * len(todo)
    with ThreadPoolExecutor(max_workers=pace.jobs) as pool:
        queue: Iterator[tuple[int, FileItem | RowItem]] = iter(enumerate(todo))
        running: dict[Future[FileOutcome], int] = {}

        def fill() -> None:
            while len(running) < pace.jobs:
                following = next(queue, None)
                if following is None:
                    return
                position, item = following
                running[pool.submit(_one, client, source_id, item, allow, pace)] = position

        fill()
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                outcomes[running.pop(future)] = future.result()
                advance(1)
            fill()
    return [outcome for outcome in outcomes if outcome is not None]


def _one(
    client: Client,
    source_id: str,
    item: FileItem | RowItem,
    allow: Sequence[str] | None,
    pace: Pace,
) -> FileOutcome:
    since = pace.monotonic()
    try:
        if isinstance(item, FileItem) and item.size > LARGEST_BODY:
            outcome = _upload(client, source_id, item, pace)
        else:
            outcome = _post(client, source_id, item, allow, pace)
    except CustodyApiError as error:
        if error.status in HOPELESS or error.status >= 500:
            raise
        where = f" ({error.field})" if error.field else ""
        outcome = FileOutcome(
            item.name, "REFUSED", reasons=(f"{error.code}{where}: {error.detail}",)
        )
    return replace(outcome, seconds=round(pace.monotonic() - since, 3))


def _post(
    client: Client,
    source_id: str,
    item: FileItem | RowItem,
    allow: Sequence[str] | None,
    pace: Pace,
) -> FileOutcome:
    if isinstance(item, FileItem):
        result = client.put_document(
            document_id(item.name),
            source_id,
            item.path.read_bytes(),
            item.content_type,
            acl=allow,
            metadata={"path": item.name},
        )
    else:
        metadata: dict[str, MetadataValue] = dict(item.metadata)
        result = client.put_document(
            item.document_id,
            source_id,
            item.text,
            "text/plain",
            title=item.title,
            acl=item.acl or allow,
            metadata=metadata or None,
            valid_from=item.times.get("valid_from"),
            valid_to=item.times.get("valid_to"),
            observed_at=item.times.get("observed_at"),
        )
    return _settled(client, item.name, result, pace)


def _settled(client: Client, name: str, result: PutDocumentResult, pace: Pace) -> FileOutcome:
    identifier, version, state = result["document_id"], result["version"], result["state"]
    reasons: tuple[str, ...] = ()
    if state not in FINAL:
        try:
            document = client.wait_for_document(identifier, version=version, timeout=pace.timeout)
        except CustodyTimeoutError:
            return FileOutcome(name, "PENDING", identifier, version)
        for one in document.get("versions", []):
            if one["version"] == version:
                state, reasons = one["state"], tuple(one.get("reasons", []))
                break
        else:
            state = document["state"]
    return FileOutcome(
        name, state, identifier, version, unchanged=result.get("unchanged", False), reasons=reasons
    )


def _upload(client: Client, source_id: str, item: FileItem, pace: Pace) -> FileOutcome:
    client.upload_file(item.path, source_id, name=item.name, content_type=item.content_type)
    try:
        drop = client.wait_for_drop(item.name, source_id, timeout=pace.timeout)
    except CustodyTimeoutError:
        return FileOutcome(item.name, "PENDING")
    return FileOutcome(
        item.name,
        drop["state"],
        drop.get("document_id"),
        drop.get("version") or None,
        reasons=tuple(drop.get("reasons", [])),
    )
