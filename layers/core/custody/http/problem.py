"""RFC 9457 problem details, from the error tree and from nothing else."""

from __future__ import annotations

from custody.errors import CustodyError

PROBLEM_TYPE = "application/problem+json"
_INTERNAL = CustodyError("The service could not complete the request.")


def problem(error: CustodyError | None, trace_id: str) -> dict[str, object]:
    """The problem document of ``error``; None is anything that was not raised on purpose.

    An error of the tree without a client status (500) is told as ``internal`` too: its detail was
    written for operators.
    """
    told = error if error is not None and error.status != 500 else _INTERNAL
    return {
        "type": f"urn:custody:problem:{told.code}",
        "title": told.code.replace("-", " ").capitalize(),
        "status": told.status,
        "detail": told.detail,
        "code": told.code,
        "field": told.field,
        "trace_id": trace_id,
    }
