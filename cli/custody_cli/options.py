"""Options that several commands share, and the frame that every command runs in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated

import typer

from custody.domain.provenance.identifiers import valid_document_id, valid_tenant
from custody_cli import output
from custody_cli.errors import UNABLE, CommandError, from_service, usage
from custody_cli.target import Who

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", envvar="CUSTODY_TENANT", help="Tenant (local stack: local)."),
]
Subject = Annotated[
    str | None,
    typer.Option("--subject", envvar="CUSTODY_SUBJECT", help="Who asks (local stack: me)."),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="An emulator of AWS that runs already (else AWS_ENDPOINT_URL, LOCALSTACK_HOST); "
        "without one, one is started.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option("--groups", envvar="CUSTODY_GROUPS", help="Groups, separated by commas."),
]

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Kept with the change.")]


def who(tenant: str | None, subject: str | None, groups: str | None) -> Who:
    if tenant is not None:
        check_tenant(tenant)
    if subject == "":
        raise usage("The subject is empty.", "Leave --subject out, or say who asks.")
    return Who(tenant, subject, names(groups))


def check_tenant(tenant: str) -> None:
    """The service would only say that the token is not good."""
    if not valid_tenant(tenant):
        raise usage(
            f"{tenant!r} can't be a tenant.",
            "A tenant is 2 to 40 of a-z, 0-9 and -, and starts with a letter or digit.",
        )


def given_reason(text: str) -> str:
    if not text.strip():
        raise usage("The reason is empty.", field="reason")
    return text


def path_segment(text: str, what: str) -> str:
    """``what`` names it with its article. Whatever else it may be, it must not leave its path."""
    if not valid_document_id(text):
        raise usage(f"{text!r} can't be {what}.")
    return text


def names(text: str | None) -> tuple[str, ...]:
    """Names separated by commas or white space."""
    return tuple(name for name in (text or "").replace(",", " ").split() if name)


def command[**P](body: Callable[P, int | None]) -> Callable[P, None]:
    """Runs a command: its return value is the exit code, and what it raises is said."""

    @functools.wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json = bool(kwargs.get("as_json", False))
        try:
            code = body(*args, **kwargs)
        except Exception as error:
            told = _told(error)
            if told is None:
                raise
            output.fail(told, as_json=as_json)
            raise typer.Exit(told.exit_code) from error
        raise typer.Exit(code or 0)

    return run


def _told(error: Exception) -> CommandError | None:
    if isinstance(error, CommandError):
        return error
    from custody_client import CustodyClientError
    from custody_local.errors import LocalStackError

    if isinstance(error, LocalStackError):
        return CommandError(UNABLE, error.code, str(error))
    told = from_service(error)
    if told is None and isinstance(error, CustodyClientError):
        return usage(str(error))
    return told
