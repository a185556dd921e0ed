"""The `custody` command."""

from __future__ import annotations

import logging

import typer

from custody_cli.commands import documents, ingest, questions, stack

app = typer.Typer(
    name="custody",
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
app.command()(stack.token)
app.command()(ingest.ingest)
app.command()(questions.search)
app.command()(questions.answer)
app.command()(documents.erase)
app.command()(documents.show)
app.command()(documents.access)


def main() -> None:
    # The client's retries are its own business; a warning a retry would run through the tables.
    logging.getLogger("stamina").setLevel(logging.ERROR)
    app()


if __name__ == "__main__":
    main()
