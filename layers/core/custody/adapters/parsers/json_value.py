"""JSON and JSON lines: one block a record, ``path: value`` lines, or a record's own text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from custody.adapters.parsers.budget import Budget
from custody.adapters.parsers.draft import Draft, Piece
from custody.adapters.parsers.limits import Limits
from custody.errors import Rejected

type _Json = bool | str | list[_Json] | dict[str, _Json] | None

_TITLES = ("title", "heading", "name")
_TEXTS = ("text", "content", "body", "abstract", "passage")
_IDENTIFIERS = ("id", "_id", "doc_id", "document_id")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(text: str, limits: Limits, budget: Budget) -> Draft:
    """An array of objects gives a block for each. Raises Rejected: ``malformed-json``,
    ``document-too-complex``, ``too-much-text``."""
    value = _load(text, limits, where=None)
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        _refuse_rows(len(value), limits)
        return Draft(
            tuple(_record(each, f"item {row}", budget) for row, each in enumerate(value, 1))
        )
    piece = _record(value, None, budget)
    return Draft((piece,), title=piece.heading)


def read_json_lines(text: str, limits: Limits, budget: Budget) -> Draft:
    """Blank lines are skipped. Raises Rejected as ``read_json``, with the number of the line."""
    pieces: list[Piece] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        _refuse_rows(len(pieces) + 1, limits)
        where = f"line {number}"
        pieces.append(_record(_load(line, limits, where=where), where, budget))
    return Draft(tuple(pieces))


def _record(value: _Json, fallback: str | None, budget: Budget) -> Piece:
    """Title, name or id head a record, so that it can be cited; its text stands first."""
    if not isinstance(value, dict):
        return budget.piece("\n".join(_lines(value, (), budget)), fallback)
    title = _first_text(value, _TITLES)
    body = _first_text(value, _TEXTS)
    identifier = None if title else _first_text(value, _IDENTIFIERS)
    heading = value[title] if title else value[identifier] if identifier else fallback
    parts = [str(value[body])] if body else []
    budget.take(sum(map(len, parts)))
    rest = {key: each for key, each in value.items() if key not in {title, body, identifier}}
    parts.extend(_lines(rest, (), budget))
    text = "\n".join(part for part in parts if part.strip())
    if not text:
        text = str(heading or "")
        budget.take(len(text))
    return budget.piece(text, str(heading) if heading else None)


def _first_text(record: dict[str, _Json], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if _is_text(record.get(name))), None)


def _is_text(value: _Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _lines(value: _Json, path: tuple[str, ...], budget: Budget) -> Iterator[str]:
    """``path``: the names above, joined only where a line needs them; one long name above many
    values would be copied for each of them."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _lines(each, (*path, key) if path or key else (), budget)
    elif isinstance(value, list):
        if value and not any(isinstance(each, dict | list) for each in value):
            yield _line(path, [_scalar(each) for each in value], budget)
        else:
            for each in value:
                yield from _lines(each, path, budget)
    elif value is not None:
        yield _line(path, [_scalar(value)], budget)


def _line(path: tuple[str, ...], values: list[str], budget: Budget) -> str:
    budget.take(sum(len(each) + 2 for each in (*path, *values)))
    name, value = ".".join(path), ", ".join(values)
    return f"{name}: {value}" if path else value


def _scalar(value: _Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _load(text: str, limits: Limits, *, where: str | None) -> _Json:
    try:
        # Numbers stay as they were written: no value is changed by reading it.
        value: _Json = json.loads(
            text.removeprefix("\ufeff"),
            parse_int=str,
            parse_float=str,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique,
        )
    except json.JSONDecodeError as error:
        place = f"{where}, column {error.colno}" if where else f"line {error.lineno}"
        raise _malformed(f"{error.msg} ({place})", where) from error
    except _NotJson as error:
        raise _malformed(f"{error} ({where or 'in the document'})", where) from error
    except RecursionError as error:
        raise _too_deep(limits) from error
    _check(value, limits, where)
    return value


def _check(value: _Json, limits: Limits, where: str | None) -> None:
    level: list[_Json] = [value]
    depth = 0
    while level:
        depth += 1
        if depth > limits.json_depth:
            raise _too_deep(limits)
        below: list[_Json] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(each)
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
            elif isinstance(each, str) and _SURROGATE.search(each):
                raise _malformed(f"half a surrogate pair ({where or 'in the document'})", where)
        level = below


class _NotJson(ValueError):
    pass


def _refuse_constant(name: str) -> None:
    raise _NotJson(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, _Json]]) -> dict[str, _Json]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise _NotJson("an object has a key twice")
    return record


def _refuse_rows(rows: int, limits: Limits) -> None:
    if rows > limits.rows:
        raise Rejected(f"There are more than {limits.rows} rows.", code="document-too-complex")


def _too_deep(limits: Limits) -> Rejected:
    return Rejected(
        f"The JSON nests more than {limits.json_depth} levels.", code="document-too-complex"
    )


def _malformed(what: str, where: str | None) -> Rejected:
    return Rejected(f"The JSON can't be read: {what}.", code="malformed-json", field=where)
