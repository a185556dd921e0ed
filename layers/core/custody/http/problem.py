"""RFC 9457 problem details, from the error tree and from nothing else."""

from __future__ import annotations

from custody.errors import CustodyError
from custody.http.schemas.problem import Problem

PROBLEM_TYPE = "application/problem+json"
_INTERNAL = CustodyError("The service could not complete the request.")


def problem(error: CustodyError | None, trace_id: str) -> Problem:
    """The problem document of ``error``; None is anything that was not raised on purpose.

    An error of the tree without a client status (500) is told as ``internal`` too: its detail was
    written for operators.
    """
    told = error if error is not None and error.status != 500 else _INTERNAL
    return Problem(
        type=f"urn:custody:problem:{told.code}",
        title=told.code.replace("-", " ").capitalize(),
        status=told.status,
        detail=_whole(told.detail),
        code=told.code,
        field=None if told.field is None else _whole(told.field),
        trace_id=trace_id,
    )


def _whole(text: str) -> str:
    """What is told of a caller's own name may hold half a surrogate pair, which no UTF-8 can."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
