"""ingest: files, folders and JSON lines, through the drop or the API."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from custody_cli import output
from custody_cli.errors import NO, CommandError, usage
from custody_cli.options import Groups, Json, Subject, Tenant, command, who
from custody_cli.progress import bar
from custody_cli.sources_on_disk import JSON_LINES, FileItem, Found, RowItem, collect, rows
from custody_cli.target import GOVERN, READ, WRITE, Target, resolve
from custody_cli.wiring import wired

if TYPE_CHECKING:
    from custody_cli.ingestion import FileOutcome
    from custody_client import Client

SHOWN = 40


class Via(StrEnum):
    DROP = "drop"
    API = "api"


@command
def ingest(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    *,
    source: Annotated[str, typer.Option(help="The source that they belong to.")],
    via: Annotated[
        Via | None,
        typer.Option(
            help="drop puts files into the bucket (JSON lines as one document); api posts "
            "documents (each JSON line as one). Default: drop where the bucket is known."
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="ACL term of each document (repeat); with --via api."),
    ] = None,
    create_source: Annotated[
        bool, typer.Option("--create-source", help="Local stack: put the source where missing.")
    ] = False,
    trust_domain: Annotated[
        str, typer.Option(help="Trust domain of a created source.")
    ] = "internal",
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait at most.")] = 300.0,
    jobs: Annotated[int, typer.Option(min=1, max=32, help="Posts at once; with --via api.")] = 4,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> int:
    """Ingest files, folders and JSON lines, and wait until they are published.

    A file's sidecar (<file>.metadata.json) goes with a drop. Exit code 1 when anything was
    rejected, refused or is still pending.
    """
    found = collect(paths)
    scopes = [READ, WRITE, *([GOVERN] if create_source else [])]
    target = resolve(wired(ctx), who(tenant, subject, groups), scopes)
    way = via or (Via.DROP if target.bucket and target.tenant else Via.API)
    if way is Via.DROP and allow:
        raise usage(
            "--allow goes with --via api.", "A dropped file's ACL comes from its sidecar or source."
        )
    todo: list[FileItem | RowItem] = _expand(found) if way is Via.API else [*found.files]
    with target.client() as client:
        if create_source:
            _ensure_source(client, target, source, trust_domain)
        outcomes = _send(client, target, source, way, todo, allow, timeout, jobs)
    _tell(outcomes, found, source, way, as_json=as_json)
    return 0 if all(outcome.ok for outcome in outcomes) else NO


def _expand(found: Found) -> list[FileItem | RowItem]:
    """JSON lines become their rows. A sidecar would be lost on this way, so it is refused."""
    todo: list[FileItem | RowItem] = []
    for item in found.files:
        if item.sidecar is not None:
            raise usage(f"{item.sidecar} is a sidecar, and the API takes none.", "Use --via drop.")
        lines = item.path.suffix.lower() in JSON_LINES
        todo += rows(item) if lines else [item]
    named: dict[str, str] = {}
    for one in todo:
        if isinstance(one, RowItem):
            former = named.setdefault(one.document_id, one.name)
            if former != one.name:
                raise usage(f"{former} and {one.name} have the same id, {one.document_id}.")
    return todo


def _ensure_source(client: Client, target: Target, source: str, trust_domain: str) -> None:
    if not target.local:
        raise usage(
            "--create-source serves the local stack only.",
            "A deployment's sources are put by its governors: PUT /sources/{id}.",
        )
    cursor: str | None = None
    while True:
        page = client.list_sources(next=cursor)
        if any(one["source_id"] == source for one in page["sources"]):
            return
        cursor = page.get("next")
        if not cursor:
            break
    client.put_source(
        source,
        trust_domain=trust_domain,
        writers=[f"user:{target.subject}"],
        default_acl=[f"tenant:{target.tenant}"],
    )
    output.note(f"Source {source} is new: readable for tenant {target.tenant}.")


def _send(
    client: Client,
    target: Target,
    source: str,
    way: Via,
    todo: list[FileItem | RowItem],
    allow: list[str] | None,
    timeout: float,
    jobs: int,
) -> list[FileOutcome]:
    from custody_cli.ingestion import Pace, through_api, through_drop

    pace = Pace(timeout=timeout, jobs=jobs)
    if way is Via.API:
        with bar("Publishing", len(todo)) as advance:
            return through_api(client, source, todo, allow, pace, advance)
    if target.bucket is None or target.tenant is None:
        raise CommandError(
            2,
            "no-bucket",
            "Dropping needs the bucket and the tenant of that deployment.",
            "Set CUSTODY_BUCKET and CUSTODY_TENANT, or use --via api.",
        )
    from custody_cli.s3_drop import S3Drop

    box = S3Drop(target.bucket, target.tenant, endpoint_url=target.endpoint_url, aws=target.aws)
    files = [item for item in todo if isinstance(item, FileItem)]
    # Whether the source takes this caller's files is asked first: what becomes of a drop is told
    # to its source's writers only, so others would wait for nothing. An unused ticket is nothing.
    client.create_upload(source, "question.txt", "text/plain", 1)
    with bar("Dropping and publishing", 2 * len(files)) as advance:
        return through_drop(client, box, source, files, pace, advance)


def _tell(
    outcomes: list[FileOutcome], found: Found, source: str, way: Via, *, as_json: bool
) -> None:
    counts = Counter(outcome.state for outcome in outcomes)
    if as_json:
        output.show_json(
            {
                "source_id": source,
                "via": way.value,
                "counts": dict(sorted(counts.items())),
                "skipped": list(found.skipped),
                "files": [outcome.as_json() for outcome in outcomes],
            }
        )
        return
    from rich.table import Table

    failures = [outcome for outcome in outcomes if not outcome.ok]
    shown = (failures + [outcome for outcome in outcomes if outcome.ok])[:SHOWN]
    table = Table("file", "state", "document", "version", "why")
    for outcome in shown:
        why = "unchanged" if outcome.unchanged else "; ".join(outcome.reasons)
        style = "green" if outcome.ok else "red"
        table.add_row(
            output.text(outcome.name),
            output.text(outcome.state, style),
            output.text(outcome.document_id),
            output.text(outcome.version),
            output.text(why),
        )
    told = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    output.show(table, output.text(f"{source}: {told}", "bold"))
    if len(outcomes) > len(shown):
        output.note(f"{len(outcomes) - len(shown)} more are in --json.")
    if found.skipped:
        output.note(f"Skipped, of no type that is ingested: {', '.join(found.skipped[:5])}"
                    f"{' …' if len(found.skipped) > 5 else ''}")  # fmt: skip
