"""Strict JSON bodies: what JSON forbids is refused, then a strict model checks the rest.

Python's ``json`` takes NaN, repeated keys, lone surrogates and any depth; pydantic's own parser
keeps the last of two equal keys. So the text is read once by ``json`` with those doors closed, and
then validated from the same bytes in pydantic's JSON mode, where a string is never a number.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from datetime import datetime
from typing import Annotated, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError
from pydantic import WithJsonSchema as _Schema
from pydantic_core import ErrorDetails

from custody.domain.timestamps import format_rfc3339, parse_rfc3339
from custody.errors import BadRequest, TooLarge, Unprocessable

MAX_BODY_BYTES = 6 * 1024 * 1024
MAX_DEPTH = 32
REPLACEMENT = "\ufffd"


class Body(BaseModel):
    """Base of every request and reply model."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def _timestamp(value: object) -> object:
    return parse_rfc3339(value) if isinstance(value, str) else value


type Timestamp = Annotated[
    datetime,
    BeforeValidator(_timestamp),
    PlainSerializer(format_rfc3339, return_type=str),
    _Schema({"type": "string", "format": "date-time"}),
]
type Metadata = dict[str, str | int | float | bool | list[str]]


def _malformed(detail: str) -> BadRequest:
    return BadRequest(detail, code="malformed-json")


def _refuse_constant(name: str) -> NoReturn:
    raise _malformed(f"{name} is not a JSON number.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _malformed("A number is too large.")
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadRequest("A key stands twice.", code="malformed-json", field=repeated[:128])
    return found


def _check_strings_and_depth(value: object) -> None:
    level: list[object] = [value]
    depth = 0
    while level:
        if depth > MAX_DEPTH:
            raise _malformed(f"The body is nested deeper than {MAX_DEPTH} levels.")
        below: list[object] = []
        for item in level:
            if isinstance(item, str):
                if not item.isascii() and any("\ud800" <= c <= "\udfff" for c in item):
                    raise BadRequest("A string holds half a surrogate pair.", code="invalid-utf8")
            elif isinstance(item, dict):
                below.extend(item.keys())
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = below
        depth += 1


def body_bytes(body: str | None, *, is_base64: bool, limit: int = MAX_BODY_BYTES) -> bytes:
    """The bytes that were sent. Raises TooLarge(body-too-large), BadRequest."""
    if not body:
        return b""
    too_large = TooLarge(f"The body is larger than {limit:,} bytes.", code="body-too-large")
    if len(body) > (limit * 4 // 3 + 4 if is_base64 else limit):
        raise too_large
    try:
        raw = base64.b64decode(body, validate=True) if is_base64 else body.encode("utf-8")
    except binascii.Error:
        raise BadRequest("The body is not valid base64.", code="malformed-body") from None
    except UnicodeEncodeError:
        raise BadRequest("The body is not valid UTF-8.", code="invalid-utf8") from None
    if len(raw) > limit:
        raise too_large
    return raw


def read_json(raw: bytes) -> object:
    """Strict JSON: RFC 8259 only, no repeated key, bounded depth, whole Unicode characters.

    A gateway that hands bodies over as text puts U+FFFD where the bytes were not UTF-8, so the bare
    character is refused; who means it escapes it. Raises BadRequest(malformed-json | invalid-utf8).
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("The body is not valid UTF-8.", code="invalid-utf8") from None
    if REPLACEMENT in text:
        raise BadRequest(
            "The body is not valid UTF-8, or holds a bare U+FFFD; write that one as \\ufffd.",
            code="invalid-utf8",
        )
    if not text.strip():
        raise _malformed("A JSON body is needed.")
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        raise _malformed(
            f"The body is not valid JSON: line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise _malformed(f"The body is nested deeper than {MAX_DEPTH} levels.") from None
    except ValueError:
        raise _malformed("A number has too many digits.") from None
    _check_strings_and_depth(value)
    return value


def _path(fault: ErrorDetails, given: object) -> tuple[int | str, ...]:
    """Where in ``given`` the fault is. pydantic names the types of a union in between."""
    location = fault["loc"]
    path: list[int | str] = []
    for part in location:
        match given:
            case dict() if part in given:
                given = given[part]
            case list() if isinstance(part, int) and part < len(given):
                given = given[part]
            case _ if fault["type"] != "missing" or part != location[-1]:
                continue
        path.append(part)
    return tuple(path)


def invalid(error: ValidationError, given: object) -> Unprocessable:
    """The first fault of ``given`` as a problem; unknown fields are told first, being the surest
    mistake."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    faults.sort(key=lambda fault: fault["type"] != "extra_forbidden")
    fault = faults[0]
    path = _path(fault, given)
    where = ".".join(map(str, path))[:256] or None
    if fault["type"] == "extra_forbidden":
        return Unprocessable("This field is not known.", code="unknown-field", field=where)
    detail = fault["msg"].removeprefix("Value error, ")
    if len({tuple(other["loc"]) for other in faults if _path(other, given) == path}) > 1:
        detail = "The value has none of the forms that this field can have"
    return Unprocessable(f"{detail[:1].upper()}{detail[1:]}.", code="invalid-field", field=where)


def parse_body[Model: BaseModel](model: type[Model], raw: bytes) -> Model:
    """Raises BadRequest(malformed-json | invalid-utf8), Unprocessable(unknown-field |
    invalid-field) with the first field at fault."""
    given = read_json(raw)
    if not isinstance(given, dict):
        raise _malformed("The body must be a JSON object.")
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise invalid(error, given) from None
