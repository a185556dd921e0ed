"""up, down, status, expire, token: the local stack."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from custody_cli import output
from custody_cli.errors import NO, usage
from custody_cli.local import LocalStatus, not_running
from custody_cli.options import Endpoint, Json, check_tenant, command, names
from custody_cli.target import READ
from custody_cli.wiring import wired

SCOPES = frozenset(
    f"custody/{name}" for name in ("read", "write", "erase", "govern", "audit", "override")
)


class Index(StrEnum):
    EMBEDDED = "embedded"
    OPENSEARCH = "opensearch"


@command
def up(
    ctx: typer.Context,
    *,
    index: Annotated[
        Index, typer.Option(help="opensearch needs Java 17 and Maven, or OPENSEARCH_URL.")
    ] = Index.EMBEDDED,
    endpoint: Endpoint = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port of the local AWS; 0 takes a free one."),
    ] = None,
    opensearch_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of OpenSearch; 0 takes a free one.")
    ] = None,
    model: Annotated[str, typer.Option(envvar="CUSTODY_MODEL", help="Embedding model.")] = "minilm",
    superseded_retention_days: Annotated[
        int,
        typer.Option(min=0, max=36500, help="Days that superseded versions are kept; 0: for ever."),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Start the whole service on this machine and leave it running."""
    started = (
        wired(ctx)
        .local_stack()
        .up(
            index=index.value,
            model=model,
            endpoint=endpoint,
            port=port,
            opensearch_port=opensearch_port,
            superseded_retention_days=superseded_retention_days,
        )
    )
    _tell(started, as_json=as_json)


@command
def down(ctx: typer.Context, *, as_json: Json = False) -> None:
    """Stop the local stack. An AWS that it did not start goes on, without the stack."""
    stopped = wired(ctx).local_stack().down()
    if as_json:
        output.show_json({"stopped": stopped})
    else:
        output.note("The local stack is stopped." if stopped else "Nothing was running.")


@command
def status(ctx: typer.Context, *, as_json: Json = False) -> int:
    """Say whether the local stack runs, and where. Exit code 1 when it doesn't."""
    found = wired(ctx).local_stack().status()
    _tell(found, as_json=as_json)
    return 0 if found.running else NO


@command
def expire(ctx: typer.Context, *, as_json: Json = False) -> None:
    """Let go at once of the superseded versions whose time is over, in the local stack."""
    stack = wired(ctx).local_stack()
    found = stack.status()
    if not found.running:
        raise not_running(found.problems)
    done = stack.expire()
    if as_json:
        output.show_json({"expired": done.expired, "unfinished": done.unfinished})
        return
    output.note(f"Superseded versions that were let go: {done.expired}.")
    if done.unfinished:
        output.note("More of them are due: run it again.")


@command
def token(
    ctx: typer.Context,
    *,
    tenant: Annotated[str, typer.Option(help="The tenant claim.")],
    subject: Annotated[str, typer.Option(help="The sub claim.")],
    groups: Annotated[str, typer.Option(help="Groups, separated by commas.")] = "",
    scopes: Annotated[
        str, typer.Option(help='Scopes, such as "custody/read custody/write".')
    ] = READ,
    as_json: Json = False,
) -> None:
    """Print a token of the local issuer, and nothing else."""
    check_tenant(tenant)
    if not subject:
        raise usage("The subject is empty.", "Say whose token it is.")
    wanted = names(scopes)
    unknown = sorted(set(wanted) - SCOPES)
    if unknown:
        raise usage(
            f"There is no scope {unknown[0]!r}.", f"The scopes: {' '.join(sorted(SCOPES))}."
        )
    stack = wired(ctx).local_stack()
    found = stack.status()
    if not found.running:
        raise not_running(found.problems)
    minted = stack.token(tenant=tenant, subject=subject, groups=names(groups), scopes=wanted)
    if as_json:
        output.show_json({"token": minted})
    else:
        typer.echo(minted)


def _tell(found: LocalStatus, *, as_json: bool) -> None:
    if as_json:
        output.show_json(found.as_json())
        return
    if not found.running:
        output.note(not_running(found.problems).detail)
        output.note("Start one with `custody up`.")
        return
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for name, value in found.as_json().items():
        if value and name != "running":
            table.add_row(output.text(name, "bold"), output.text(value))
    output.show(table)
