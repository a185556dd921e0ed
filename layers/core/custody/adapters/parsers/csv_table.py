"""CSV with a header line: one block a row, ``header: value; header: value``."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from custody.adapters.parsers.draft import Draft
from custody.adapters.parsers.limits import Limits
from custody.application.ports import Block
from custody.errors import Rejected

_DELIMITERS = (",", ";", "\t", "|")


def read_csv(text: str, limits: Limits) -> Draft:
    """The delimiter is the one that the first line has most of; quoted values may hold it, and
    line ends. Raises Rejected: ``malformed-csv``, ``document-too-complex``."""
    first_line = text.lstrip().partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first_line.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    blocks: list[Block] = []
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > limits.columns:
                raise _too_complex(f"a row has more than {limits.columns} columns")
            if header is None:
                header = [cell.strip() for cell in row]
                continue
            if len(blocks) == limits.rows:
                raise _too_complex(f"there are more than {limits.rows} rows")
            blocks.append(Block(_row(header, row)))
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
    if header is not None and not blocks:
        blocks.append(Block("; ".join(filter(None, header))))
    return Draft(tuple(blocks))


def _row(header: Sequence[str], row: Sequence[str]) -> str:
    named = (
        (header[index] if index < len(header) and header[index] else f"column {index + 1}", cell)
        for index, cell in enumerate(row)
    )
    return "; ".join(f"{name}: {' '.join(cell.split())}" for name, cell in named if cell.strip())


def _too_complex(what: str) -> Rejected:
    return Rejected(f"The CSV is too big: {what}.", code="document-too-complex")
