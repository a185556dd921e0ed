"""Wrong usage as JSON, where JSON was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from custody_cli import output
from custody_cli.errors import UNABLE, usage

_WANTED = "custody.json"


class Commands(TyperGroup):
    """The command and all below it. Options are read before any command runs, which could know
    whether ``--json`` is among them: here it is looked for among the words."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        wanted = _asks_for_json(args)
        with _told(as_json=wanted):
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[_WANTED] = wanted
        return context

    def invoke(self, ctx: Any) -> Any:
        with _told(as_json=ctx.meta[_WANTED]):
            return super().invoke(ctx)


def _asks_for_json(words: Sequence[str]) -> bool:
    """What stands behind ``--`` is no option."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


@contextmanager
def _told(*, as_json: bool) -> Iterator[None]:
    try:
        yield
    except TyperException as wrong:
        if not as_json:
            raise
        output.fail(usage(wrong.format_message()), as_json=True)
        raise typer.Exit(UNABLE) from None
