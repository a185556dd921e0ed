"""Progress on stderr, and only where a person looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from custody_cli.output import stderr


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that advances the bar. Says nothing without a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = stderr()
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as shown:
        task = shown.add_task(label, total=total)

        def advance(steps: int) -> None:
            shown.advance(task, steps)

        yield advance


@contextmanager
def spinner(label: str) -> Iterator[None]:
    console = stderr()
    if not console.is_terminal:
        yield
        return
    from rich.markup import escape

    with console.status(escape(label)):
        yield
