"""How much of a document is read before it is refused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Checked before a parser runs where that is possible, and while it runs otherwise.

    ``markup_bytes``: HTML and Markdown, whose parsers need many times the size in memory.
    ``characters``: of all text that a document makes, what it repeats counted each time.
    ``seconds`` (of processor time) and ``memory_bytes`` bind the child process that reads; what the
    function itself needs beside it must fit into the function's memory, or it is killed with its
    child and nobody is told why.
    """

    bytes: int = 50_000_000
    markup_bytes: int = 5_000_000
    json_bytes: int = 20_000_000
    depth: int = 512
    json_depth: int = 64
    pages: int = 2_000
    rows: int = 200_000
    columns: int = 1_000
    characters: int = 20_000_000
    seconds: int = 30
    memory_bytes: int = 700_000_000

    @property
    def wall_seconds(self) -> int:
        """A busy machine gives a child less than all of a processor."""
        return 4 * self.seconds
