"""How a command ends, and what it says then.

0: done, yes, found. 1: the answer is no, nothing was found, or the service refused. 2: wrong
usage or bad input, or the service or the stack can't be reached or can't answer.
"""

from __future__ import annotations

from dataclasses import dataclass

NO = 1
UNABLE = 2


@dataclass(eq=False)  # not frozen: the interpreter writes the traceback into it
class CommandError(Exception):
    """``detail`` says what is wrong, ``hint`` what to do next."""

    exit_code: int
    code: str
    detail: str
    hint: str | None = None
    field: str | None = None
    status: int | None = None
    trace_id: str | None = None

    def __str__(self) -> str:
        return self.detail

    def as_json(self) -> dict[str, object]:
        told = {
            "code": self.code,
            "detail": self.detail,
            "hint": self.hint,
            "field": self.field,
            "status": self.status,
            "trace_id": self.trace_id,
        }
        return {"error": {name: value for name, value in told.items() if value is not None}}


def usage(detail: str, hint: str | None = None, *, field: str | None = None) -> CommandError:
    return CommandError(UNABLE, "usage", detail, hint, field)


_HINTS = {
    "scope-missing": "Use a token with that scope (custody token --scopes).",
    "not-a-writer": "Ask a governor to add you to the source's writers, or use another source.",
    "acl-required": "Give --allow TERM, or have a default_acl put on the source.",
    "source-not-found": "A governor puts it first; on the local stack: --create-source.",
    "not-an-operator": "Use a token of a governor of the tenant public (local: --tenant public).",
    "key-not-found": "custody key list shows the keys there are.",
    "last-active-key": "Register another key first, or give --force: then nothing is served.",
    "policy-not-found": "Name a kind of policies/; activate takes a digest that sign gave.",
    "policy-unusable": "Its key is out of use or outside its window: sign it again.",
    "not-found": "It does not exist, or this principal may not see it.",
    "token-expired": "Get a fresh token and set CUSTODY_TOKEN.",
    "http-401": "The token is missing, expired or of another issuer: get a fresh one.",
    "not-available": "This deployment doesn't have that yet; leave the option out.",
}
_STATUS_HINTS = {
    401: "Get a fresh token and set CUSTODY_TOKEN.",
    429: "Wait a little and try again.",
}


def from_service(error: Exception) -> CommandError | None:
    """What the client raised, as the end of a command; None for anything else."""
    from custody_client import CustodyApiError, CustodyTimeoutError, CustodyUnreachableError

    if isinstance(error, CustodyApiError):
        unable = error.status >= 500
        hint = _HINTS.get(error.code) or _STATUS_HINTS.get(error.status)
        if unable:
            hint = "The service can't answer now; custody status and GET /health say more."
        return CommandError(
            UNABLE if unable else NO,
            error.code,
            error.detail,
            hint,
            error.field,
            error.status,
            error.trace_id,
        )
    if isinstance(error, CustodyUnreachableError):
        return CommandError(
            UNABLE,
            "time-out" if error.timed_out else "unreachable",
            f"{error}.",
            "Check CUSTODY_API_URL, or see custody status.",
        )
    if isinstance(error, CustodyTimeoutError):
        return CommandError(NO, "not-finished", f"{error}.", "Ask again later, or wait longer.")
    return None
