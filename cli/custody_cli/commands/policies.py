"""policy: sign, activate, roll back, show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from custody.domain import strict_json
from custody_cli import output
from custody_cli.errors import CommandError, usage
from custody_cli.options import Groups, Json, Subject, Tenant, command, path_segment, who
from custody_cli.target import AUDIT, GOVERN, resolve
from custody_cli.wiring import wired

if TYPE_CHECKING:
    from custody_client.types import SignedPolicy

_DIGEST = re.compile("[0-9a-f]{64}")

Name = Annotated[str, typer.Argument(help="The kind of policy, such as gate or reputation.")]


@command
def sign(
    ctx: typer.Context,
    name: Name,
    file: Annotated[Path, typer.Argument(help="The policy's JSON, as policies/ has it.")],
    *,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Check, sign and keep a policy. It is not in force by that: see activate."""
    name, document = _name(name), _document(file)
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        signed = client.sign_policy(name, document)
    _tell(signed, as_json=as_json)
    if not as_json:
        output.note(f"To put it in force: custody policy activate {name} {signed['digest']}")


@command
def activate(
    ctx: typer.Context,
    name: Name,
    digest: Annotated[str, typer.Argument(help="The digest that sign gave.")],
    *,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Put a signed policy in force, from the next read on.

    For governors of the tenant public it is the service's default, for others their tenant's own.
    """
    name = _name(name)
    if _DIGEST.fullmatch(digest) is None:
        raise usage(f"{digest!r} is no digest.", "It is 64 of 0-9 and a-f, as sign gave it.")
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        active = client.activate_policy(name, digest)
    _tell(active, as_json=as_json)


@command
def rollback(
    ctx: typer.Context,
    name: Name,
    *,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Put the policy in force that was before.

    A tenant's first one gives way to the service's default.
    """
    name = _name(name)
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        active = client.roll_back_policy(name)
    _tell(active, as_json=as_json)


@command
def show(
    ctx: typer.Context,
    name: Name,
    *,
    history: Annotated[
        bool, typer.Option("--history", help="What was in force before, newest first.")
    ] = False,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Show the policy in force for the tenant, or its history: for governors and auditors."""
    name = _name(name)
    target = resolve(wired(ctx), who(tenant, subject, groups), [AUDIT])
    with target.client() as client:
        if not history:
            _tell(client.policy(name), as_json=as_json)
            return
        changes = client.policy_history(name)
    if as_json:
        output.show_json(cast("dict[str, object]", changes))
    else:
        from custody_cli import tables

        output.show(*tables.policy_history(changes))


def _tell(policy: SignedPolicy, *, as_json: bool) -> None:
    if as_json:
        output.show_json(cast("dict[str, object]", policy))
    else:
        from custody_cli import tables

        output.show(*tables.policy(policy))


def _name(text: str) -> str:
    return path_segment(text, "a policy's name")


def _document(path: Path) -> dict[str, object]:
    """Raises CommandError (exit code 2)."""
    if not path.is_file():
        raise CommandError(2, "no-such-path", f"{path} is no file.")
    try:
        document = strict_json.read(path.read_bytes())
    except strict_json.NotStrict as error:
        raise usage(f"{path} is no JSON: {error}.", "Nothing was sent.") from None
    if not isinstance(document, dict):
        raise usage(f"{path} holds no JSON object.", "Nothing was sent.")
    return document
