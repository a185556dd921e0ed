"""Everything that the client raises on purpose.

===========================  ===================================================================
``CustodyClientError``       the root of the tree
``CustodyApiError``          the service answered, and the answer is a refusal or a failure
``CustodyUnreachableError``  no connection, a time-out, or a reply that isn't the API's
``CustodyTimeoutError``      something that was waited for did not happen in time
===========================  ===================================================================

No message holds a token or a request's body.
"""

from __future__ import annotations


class CustodyClientError(Exception):
    """Root of the tree."""


class CustodyApiError(CustodyClientError):
    """A problem+json reply (RFC 9457).

    ``code`` is the contract's stable code; ``http-<status>`` where the reply names none (a
    gateway in front of the service). ``retry_after`` in seconds, where the reply names it.
    """

    def __init__(
        self,
        status: int,
        code: str,
        field: str | None,
        detail: str,
        trace_id: str | None,
        *,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.field = field
        self.detail = detail
        self.trace_id = trace_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        where = f" ({self.field})" if self.field else ""
        trace = f" [trace {self.trace_id}]" if self.trace_id else ""
        return f"{self.status} {self.code}{where}: {self.detail}{trace}"


class CustodyUnreachableError(CustodyClientError):
    """``timed_out`` tells a time-out from a connection that failed."""

    def __init__(self, detail: str, *, timed_out: bool = False) -> None:
        super().__init__(detail)
        self.timed_out = timed_out


class CustodyTimeoutError(CustodyClientError):
    """``last`` is the state that was seen last, or None when nothing was seen."""

    def __init__(self, what: str, seconds: float, last: object | None) -> None:
        super().__init__(f"{what} did not finish within {seconds:g} s")
        self.last = last
