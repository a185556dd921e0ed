"""Say on stderr what is being done and how long it took, so that stdout stays for results."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


class Progress:
    """A spinner on a terminal, plain lines elsewhere, nothing when quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        self._console.print(text, markup=False)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """``text`` is a present participle phrase: "Building the layers"."""
        began = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(f"{text} ..."):
                yield
        else:
            self._console.print(f"{text} ...", markup=False)
            yield
        self._console.print(f"{text}: {time.monotonic() - began:.1f} s", markup=False)
