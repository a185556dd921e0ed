"""key, principal and source: what governors take out of service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from custody.domain.provenance.identifiers import valid_source_id
from custody.domain.timestamps import parse_rfc3339
from custody_cli import output
from custody_cli.errors import usage
from custody_cli.options import (
    Groups,
    Json,
    Reason,
    Subject,
    Tenant,
    command,
    given_reason,
    path_segment,
    who,
)
from custody_cli.target import AUDIT, GOVERN, resolve
from custody_cli.wiring import wired

if TYPE_CHECKING:
    from custody_client.types import Key, Source

OPERATORS = "For governors of the tenant public only (local stack: --tenant public)."

Keyid = Annotated[str, typer.Argument(help="The key's id, as custody key list shows it.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Also where it is the last active key of its purpose."),
]
SourceId = Annotated[str, typer.Argument(metavar="SOURCE", help="The source's id.")]


@command
def list_keys(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """List the keys that evidence, policies and index builds are verified with.

    For governors and auditors of any tenant.
    """
    target = resolve(wired(ctx), who(tenant, subject, groups), [AUDIT])
    with target.client() as client:
        found = client.keys()
    if as_json:
        output.show_json({"keys": found})
    else:
        from custody_cli import tables

        output.show(*tables.keys(found))


@command
def retire_key(
    ctx: typer.Context,
    keyid: Keyid,
    *,
    reason: Reason,
    force: Force = False,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    keyid, why = path_segment(keyid, "a key's id"), given_reason(reason)
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        key = client.retire_key(keyid, why, force=force)
    _tell_key(key, as_json=as_json)


@command
def revoke_key(
    ctx: typer.Context,
    keyid: Keyid,
    *,
    reason: Reason,
    force: Force = False,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    keyid, why = path_segment(keyid, "a key's id"), given_reason(reason)
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        key = client.revoke_key(keyid, why, force=force)
    _tell_key(key, as_json=as_json)


def _tell_key(key: Key, *, as_json: bool) -> None:
    if as_json:
        output.show_json(cast("dict[str, object]", key))
        return
    from custody_cli import tables

    output.show(*tables.keys([key]))
    output.note("Nothing that it has signed is served from the next read on.")


@command
def cut_principal(
    ctx: typer.Context,
    cut: Annotated[str, typer.Argument(metavar="SUBJECT", help="The sub claim of its tokens.")],
    *,
    reason: Reason,
    not_before: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Void what was issued before; a time with an offset, such as "
            "2026-01-31T12:00:00Z, that is not ahead. Default: now.",
        ),
    ] = None,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Void the tokens of a subject of this tenant that were issued before.

    It holds at the next read and is never taken back; a token that is issued later is good.
    """
    why = given_reason(reason)
    if not cut.strip():
        raise usage("The subject is empty.", "Say whose tokens are void.")
    if not_before is not None:
        try:
            parse_rfc3339(not_before)
        except ValueError as error:
            raise usage(f"--not-before is {error}.") from None
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        done = client.cut_principal(cut, why, not_before=not_before)
    if as_json:
        output.show_json(cast("dict[str, object]", done))
        return
    output.show(
        output.text(f"{done['subject']}: tokens issued before {done['not_before']} are void")
    )
    output.note("End the account at the issuer too, or it gets a new token.")


@command
def quarantine_source(
    ctx: typer.Context,
    source: SourceId,
    *,
    reason: Reason,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Serve nothing of a source, and take nothing for it, until it is released."""
    source, why = _source_id(source), given_reason(reason)
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        changed = client.quarantine_source(source, why)
    _tell_source(changed, as_json=as_json)


@command
def release_source(
    ctx: typer.Context,
    source: SourceId,
    *,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Release a source from quarantine."""
    source = _source_id(source)
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        changed = client.release_source(source)
    _tell_source(changed, as_json=as_json)


def _tell_source(source: Source, *, as_json: bool) -> None:
    if as_json:
        output.show_json(cast("dict[str, object]", source))
    else:
        from custody_cli import tables

        output.show(*tables.source(source))


def _source_id(text: str) -> str:
    if not valid_source_id(text):
        raise usage(
            f"{text!r} can't be a source's id.",
            "It is 1 to 64 of A-Z a-z 0-9 . _ - and starts with a letter or digit.",
        )
    return text
