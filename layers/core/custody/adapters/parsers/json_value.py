"""JSON and JSON lines: one block a record, ``path: value`` lines, or a record's own text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from custody.adapters.parsers.draft import Draft
from custody.adapters.parsers.limits import Limits
from custody.application.ports import Block
from custody.errors import Rejected

type _Json = bool | str | list[_Json] | dict[str, _Json] | None

_TITLES = ("title", "heading", "name")
_TEXTS = ("text", "content", "body", "abstract", "passage")
_IDENTIFIERS = ("id", "_id", "doc_id", "document_id")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(text: str, limits: Limits) -> Draft:
    """An array of objects gives a block for each. Raises Rejected: ``malformed-json``,
    ``document-too-complex``."""
    value = _load(text, limits, where=None)
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        _refuse_rows(len(value), limits)
        return Draft(tuple(_record(each, f"item {row}") for row, each in enumerate(value, 1)))
    block = _record(value, None)
    return Draft((block,), title=block.heading)


def read_json_lines(text: str, limits: Limits) -> Draft:
    """Blank lines are skipped. Raises Rejected as ``read_json``, with the number of the line."""
    blocks: list[Block] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        _refuse_rows(len(blocks) + 1, limits)
        blocks.append(_record(_load(line, limits, where=f"line {number}"), f"line {number}"))
    return Draft(tuple(blocks))


def _record(value: _Json, fallback: str | None) -> Block:
    """Title, name or id head a record, so that it can be cited; its text stands first."""
    if not isinstance(value, dict):
        return Block("\n".join(_lines(value, "")), heading=fallback)
    title = _first_text(value, _TITLES)
    body = _first_text(value, _TEXTS)
    identifier = None if title else _first_text(value, _IDENTIFIERS)
    heading = value[title] if title else value[identifier] if identifier else fallback
    parts = [str(value[body])] if body else []
    rest = {key: each for key, each in value.items() if key not in {title, body, identifier}}
    parts.extend(_lines(rest, ""))
    text = "\n".join(part for part in parts if part.strip())
    return Block(text or str(heading or ""), heading=str(heading) if heading else None)


def _first_text(record: dict[str, _Json], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if _is_text(record.get(name))), None)


def _is_text(value: _Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _lines(value: _Json, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _lines(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        if value and not any(isinstance(each, dict | list) for each in value):
            yield _line(path, ", ".join(_scalar(each) for each in value))
        else:
            for each in value:
                yield from _lines(each, path)
    elif value is not None:
        yield _line(path, _scalar(value))


def _line(path: str, value: str) -> str:
    return f"{path}: {value}" if path else value


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
