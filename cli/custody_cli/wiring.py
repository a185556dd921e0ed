"""What the commands take from outside. A test hands over another one, as ``obj`` of the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

    from custody_cli.local import LocalStack


def _of_this_machine() -> LocalStack:
    from custody_cli.local_adapter import StackOnThisMachine  # loads the whole local stack

    return StackOnThisMachine()


@dataclass(frozen=True, slots=True)
class Wiring:
    """``local_stack`` is called by the commands that need one, and not before."""

    local_stack: Callable[[], LocalStack] = _of_this_machine


def wired(context: typer.Context) -> Wiring:
    """The one that the program was called with; this machine's where it was called without."""
    return context.ensure_object(Wiring)
