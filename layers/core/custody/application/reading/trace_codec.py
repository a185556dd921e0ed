"""A trace as JSON and back, by the types of ``custody.application.reading.trace``.

Reading is strict: a field that is missing or unknown, or a value of another type, is an error, so a
trace that an earlier version of the service wrote in another form is never half understood. A new
field therefore has the default that older traces mean: without one they can't be read any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from custody.application.reading.trace import AnswerTrace, SearchTrace, Trace
from custody.errors import IntegrityError

_CONFIG = ConfigDict(
    strict=True,
    extra="forbid",
    allow_inf_nan=False,
    hide_input_in_errors=True,  # errors are logged, questions are not
)


@cache
def _adapter() -> TypeAdapter[tuple[Trace]]:
    """Of a tuple, since an adapter of dataclasses themselves takes no configuration."""
    tagged = Annotated[SearchTrace | AnswerTrace, Field(discriminator="kind")]
    return TypeAdapter(tuple[tagged], config=_CONFIG)


def encode(trace: Trace) -> Mapping[str, object]:
    """JSON-compatible."""
    stored: Mapping[str, object] = _adapter().dump_python((trace,), mode="json")[0]
    return stored


def decode(stored: Mapping[str, object]) -> Trace:
    """Raises IntegrityError(malformed-trace)."""
    try:
        return _adapter().validate_json(json.dumps([stored]))[0]
    except ValidationError as error:
        raise IntegrityError("A stored trace can't be read.", code="malformed-trace") from error
