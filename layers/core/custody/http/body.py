"""Strict JSON bodies: what JSON forbids is refused, then a strict model checks the rest.

The text is read once (``custody.domain.strict_json``) and the value that came of it is checked: a
second parser would keep the last of two equal keys. A strict model takes a value as JSON has it, so
a field's type is one of JSON's own or says how it is read, as ``Timestamp`` does.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from custody.domain import strict_json
from custody.domain.strict_json import Fault
from custody.errors import BadRequest, TooLarge, Unprocessable

MAX_BODY_BYTES = 6 * 1024 * 1024

_DETAILS: Mapping[Fault, str] = {
    Fault.EMPTY: "A JSON body is needed.",
    Fault.ENCODING: "The body is not valid UTF-8.",
    Fault.REPLACED: "The body is not valid UTF-8, or holds a bare U+FFFD; write that one as \\ufffd.",
    Fault.SYNTAX: "The body is not valid JSON: {where}.",
    Fault.CONSTANT: "{where} is not a JSON number.",
    Fault.RANGE: "A number is too large.",
    Fault.DIGITS: "A number has too many digits.",
    Fault.REPEATED: "A key stands twice.",
    Fault.SURROGATE: "A string holds half a surrogate pair.",
    Fault.DEPTH: f"The body is nested deeper than {strict_json.MAX_DEPTH} levels.",
}
_NOT_UNICODE = frozenset({Fault.ENCODING, Fault.REPLACED, Fault.SURROGATE})
# pydantic speaks of a value in Python's words; these are JSON's.
_JSON_WORDS: Mapping[str, str] = {
    "list_type": "Input should be a valid array",
    "dict_type": "Input should be an object",
    "model_type": "Input should be an object",
}


def _malformed(detail: str) -> BadRequest:
    return BadRequest(detail, code="malformed-json")


def _refused(error: strict_json.NotStrict) -> BadRequest:
    where = error.where or ""
    return BadRequest(
        _DETAILS[error.fault].format(where=where),
        code="invalid-utf8" if error.fault in _NOT_UNICODE else "malformed-json",
        field=where[:128] if error.fault is Fault.REPEATED else None,
    )


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
    """Strict JSON. Raises BadRequest(malformed-json | invalid-utf8).

    A gateway that hands bodies over as text puts U+FFFD where the bytes were not UTF-8, so the bare
    character is refused; who means it escapes it.
    """
    try:
        return strict_json.read(raw, replacement_allowed=False)
    except strict_json.NotStrict as error:
        raise _refused(error) from None


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
    detail = _JSON_WORDS.get(fault["type"], fault["msg"]).removeprefix("Value error, ")
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
        return model.model_validate(given)
    except ValidationError as error:
        raise invalid(error, given) from None
