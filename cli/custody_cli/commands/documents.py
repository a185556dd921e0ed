"""erase, show and access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from custody.domain.provenance.identifiers import valid_document_id
from custody.domain.timestamps import parse_rfc3339
from custody_cli import output
from custody_cli.errors import NO, usage
from custody_cli.options import Groups, Json, Subject, Tenant, command, given_reason, who
from custody_cli.progress import spinner
from custody_cli.target import AUDIT, ERASE, READ, resolve
from custody_cli.wiring import wired

if TYPE_CHECKING:
    from custody_client import Client
    from custody_client.types import Erasure


@command
def erase(
    ctx: typer.Context,
    document_id: Annotated[str, typer.Argument(help="The document's id.")],
    *,
    reason: Annotated[str, typer.Option(help="Kept in the receipt.")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every copy is gone.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait at most.")] = 120.0,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> int:
    """Erase a document: hidden from the next read on, then every copy is deleted."""
    reason = given_reason(reason)
    target = resolve(wired(ctx), who(tenant, subject, groups), [READ, ERASE])
    with target.client() as client:
        erasure_id = client.delete_document(_identifier(document_id), reason)["erasure_id"]
        if not wait:
            if as_json:
                output.show_json({"erasure_id": erasure_id, "document_id": document_id})
            else:
                output.show(output.text(erasure_id))
                output.note("Hidden from now on. --wait waits until the copies are gone too.")
            return 0
        receipt, complete = _wait(client, erasure_id, timeout)
    if as_json:
        output.show_json(cast("dict[str, object]", receipt))
    else:
        from custody_cli import tables

        output.show(*tables.erasure(receipt))
    return 0 if complete else NO


@command
def show(
    ctx: typer.Context,
    identifier: Annotated[str, typer.Argument(help="A document's id, or an answer's.")],
    *,
    answer: Annotated[bool, typer.Option("--answer", help="Show an answer's trace.")] = False,
    version: Annotated[
        int | None, typer.Option(min=1, help="This version's statement, not the live one's.")
    ] = None,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Show a document with its signed statement, or an answer's trace."""
    if answer and version is not None:
        raise usage("--version belongs to documents, not to answers.")
    target = resolve(wired(ctx), who(tenant, subject, groups), [READ])
    from custody_cli import tables

    with target.client() as client:
        if answer:
            trace = client.get_answer(_identifier(identifier))
            if as_json:
                output.show_json(cast("dict[str, object]", trace))
            else:
                output.show(*tables.trace(trace))
            return
        document = client.get_document(_identifier(identifier))
        provenance = client.provenance(identifier, version=version)
    if as_json:
        output.show_json({"document": document, "provenance": provenance})
    else:
        output.show(*tables.document(document, provenance))


@command
def access(
    ctx: typer.Context,
    identifier: Annotated[str, typer.Argument(help="The document's id.")],
    *,
    at: Annotated[
        str | None, typer.Option(help="A time with an offset, such as 2026-01-31T12:00:00Z.")
    ] = None,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Show who could have been shown a document at a time, or now: for auditors."""
    if at is not None:
        try:
            parse_rfc3339(at)
        except ValueError as error:
            raise usage(f"--at is {error}.") from None
    target = resolve(wired(ctx), who(tenant, subject, groups), [AUDIT])
    from custody_cli import tables

    with target.client() as client:
        found = client.access(_identifier(identifier), at=at)
    if as_json:
        output.show_json(cast("dict[str, object]", found))
    else:
        output.show(*tables.access(found))


def _wait(client: Client, erasure_id: str, timeout: float) -> tuple[Erasure, bool]:
    """The receipt, and whether it is COMPLETE. An unfinished one is told too."""
    from custody_client import CustodyTimeoutError

    with spinner("Erasing every copy"):
        try:
            return client.wait_for_erasure(erasure_id, timeout=timeout), True
        except CustodyTimeoutError as error:
            if error.last is None:
                raise
            return cast("Erasure", error.last), False


def _identifier(text: str) -> str:
    if not valid_document_id(text):  # of answers and erasures too
        raise usage(
            f"{text!r} can't be an id.",
            "A dropped file's id is <source>:<26 characters>; custody search shows it.",
        )
    return text
