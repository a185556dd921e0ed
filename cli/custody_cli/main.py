"""The `custody` command."""

from __future__ import annotations

import logging

import typer

from custody_cli.commands import documents, govern, indexes, ingest, policies, questions, stack
from custody_cli.usage import Commands

app = typer.Typer(
    name="custody",
    cls=Commands,
    help="Retrieval with a chain of custody: evidence that is signed, permitted, live and "
    "sufficient.\n\nExit codes: 0 done; 1 the answer is no, nothing was found, or the service "
    "refused; 2 wrong usage or bad input, or the service can't be reached.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # locals hold tokens
)
app.command()(stack.up)
app.command()(stack.down)
app.command()(stack.status)
app.command()(stack.expire)
app.command()(stack.token)
app.command()(ingest.ingest)
app.command()(questions.search)
app.command()(questions.answer)
app.command()(documents.erase)
app.command()(documents.show)
app.command()(documents.access)


def _group(name: str, told: str) -> typer.Typer:
    group = typer.Typer(help=told, no_args_is_help=True)
    app.add_typer(group, name=name)
    return group


_key = _group(
    "key",
    "List keys, and take them out of use: that is for governors of the tenant public only.",
)
_key.command("list")(govern.list_keys)
_key.command("retire", help=f"Serve nothing that a key has signed.\n\n{govern.OPERATORS}")(
    govern.retire_key
)
_key.command(
    "revoke",
    help=f"Serve nothing that a key has signed, for good: a revoked key never comes back."
    f"\n\n{govern.OPERATORS}",
)(govern.revoke_key)

_principal = _group("principal", "Cut a caller's access.")
_principal.command("cut")(govern.cut_principal)

_source = _group("source", "Quarantine a source, and release it.")
_source.command("quarantine")(govern.quarantine_source)
_source.command("release")(govern.release_source)

_policy = _group("policy", "Sign policies, put them in force and take them back.")
_policy.command()(policies.sign)
_policy.command()(policies.activate)
_policy.command()(policies.rollback)
_policy.command()(policies.show)

_index = _group("index", "Build the tenant's indices anew, and look at them.")
_index.command()(indexes.rebuild)
_index.command("list")(indexes.list_indexes)
_index.command()(indexes.drop)


def main() -> None:
    # The client's retries are its own business; a warning a retry would run through the tables.
    logging.getLogger("stamina").setLevel(logging.ERROR)
    app()


if __name__ == "__main__":
    main()
