"""CSV with a header line: one block a row, ``header: value; header: value``."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from custody.adapters.parsers.budget import Budget
from custody.adapters.parsers.draft import Draft, Piece
from custody.adapters.parsers.limits import Limits
from custody.errors import Rejected

_DELIMITERS = (",", ";", "\t", "|")
# Rows may be blank, and quoted values may hold line ends.
_LINES_A_ROW = 10
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def read_csv(text: str, limits: Limits, budget: Budget) -> Draft:
    """The delimiter is the one that the first line has most of; quoted values may hold it, and
    line ends. Raises Rejected: ``malformed-csv``, ``document-too-complex``, ``too-much-text``."""
    if max(text.count("\n"), text.count("\r")) > limits.rows * _LINES_A_ROW:
        raise _too_complex(f"there are more than {limits.rows * _LINES_A_ROW} lines")
    first_line = text.lstrip().partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first_line.count)
    rows = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    pieces: list[Piece] = []
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > limits.columns:
                raise _too_complex(f"a row has more than {limits.columns} columns")
            if header is None:
                header = [cell.strip() for cell in row]
                continue
            if len(pieces) == limits.rows:
                raise _too_complex(f"there are more than {limits.rows} rows")
            pieces.append(budget.piece(_row(header, row, budget)))
    except csv.Error as error:
        if "field limit" in str(error):
            raise _too_complex(
                f"a value near line {rows.line_num} has over {csv.field_size_limit()} characters"
            ) from error
        raise Rejected(
            f"The CSV can't be read: {error} (line {rows.line_num}).",
            code="malformed-csv",
            field=f"line {rows.line_num}",
        ) from error
    if header is not None and not pieces:
        names = "; ".join(filter(None, header))
        budget.take(len(names))
        pieces.append(budget.piece(names))
    return Draft(tuple(pieces))


def _lines(text: str) -> Iterator[str]:
    """Each with its end. A file object over the text would hold four bytes for each character."""
    return (found.group() for found in _LINE.finditer(text))


def _row(header: Sequence[str], row: Sequence[str], budget: Budget) -> str:
    """The header's names are paid for in every row that repeats them."""
    parts: list[str] = []
    for index, cell in enumerate(row):
        value = " ".join(cell.split())
        if not value:
            continue
        name = header[index] if index < len(header) and header[index] else f"column {index + 1}"
        budget.take(len(name) + len(value) + len(": ; "))
        parts.append(f"{name}: {value}")
    return "; ".join(parts)


def _too_complex(what: str) -> Rejected:
    return Rejected(f"The CSV is too big: {what}.", code="document-too-complex")
