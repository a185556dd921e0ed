"""One HTTP exchange with the service: token, retries, and problem+json turned into errors."""

from __future__ import annotations

import ipaddress
import json
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from custody_client.errors import CustodyApiError, CustodyClientError, CustodyUnreachableError

if TYPE_CHECKING:
    import httpx2

RETRIED_STATUSES: Final = frozenset({429, 503})
#: A Retry-After beyond this many seconds is the caller's to wait for, not ours.
LONGEST_WAIT: Final = 30.0

type Token = str | Callable[[], str]


class Transport:
    """Sends requests below ``base_url``. Retries 429 and 503 only, and honours Retry-After.

    Every call that goes through here is safe to repeat: reads are, searches and answers write
    nothing that a repeat could harm, and a state-changing call carries an Idempotency-Key that
    stays the same over its retries.
    """

    def __init__(
        self,
        base_url: str,
        token: Token | None,
        *,
        timeout: float,
        attempts: int,
        transport: httpx2.BaseTransport | None,
    ) -> None:
        import httpx2

        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"base_url must be an http or https URL, got {base_url!r}")
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        self._base = base_url.rstrip("/")
        self._token = token
        self._attempts = attempts
        self._http = httpx2.Client(
            timeout=timeout,
            transport=transport,
            follow_redirects=False,  # a redirect would carry the token to another host
            trust_env=not _is_loopback(parts.hostname),  # no proxy stands before this machine
            headers={"accept": "application/json", "user-agent": "custody-client"},
        )

    def close(self) -> None:
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        params: Mapping[str, str | int | None] | None = None,
        headers: Mapping[str, str] | None = None,
        anonymous: bool = False,
        accept_status: frozenset[int] = frozenset(),
    ) -> dict[str, object]:
        """The reply's JSON object.

        ``accept_status``: failure statuses whose body is an answer all the same.
        Raises CustodyApiError, CustodyUnreachableError.
        """
        import stamina

        def attempt() -> dict[str, object]:
            sent = dict(headers or {})
            if not anonymous:
                sent["authorization"] = f"Bearer {self._current_token()}"
            content = None
            if body is not None:
                text = json.dumps(body, ensure_ascii=False, allow_nan=False)
                # Bare, it would look like bytes that a gateway could not read as UTF-8.
                content = text.replace("\ufffd", "\\ufffd").encode()
                sent["content-type"] = "application/json"
            query = {name: value for name, value in (params or {}).items() if value is not None}
            response = self._exchange(method, path, content, query, sent)
            if response.is_success or response.status_code in accept_status:
                return _object(response)
            raise _problem(response)

        for retry in stamina.retry_context(
            on=backoff, attempts=self._attempts, timeout=60.0, wait_initial=0.2, wait_max=5.0
        ):
            with retry:
                return attempt()
        raise AssertionError("a retry context ends with a result or an error")

    def put_bytes(self, url: str, content: object, headers: Mapping[str, str]) -> None:
        """Send a file to a presigned URL: exactly ``headers``, and never the token."""
        import httpx2

        try:
            response = self._http.put(
                url,
                content=cast("bytes", content),  # any binary stream that httpx2 can measure
                headers={**headers, "accept": "*/*"},
            )
        except httpx2.TransportError as error:
            raise _unreachable("the upload address", error) from error
        if not response.is_success:
            raise CustodyApiError(
                response.status_code,
                "upload-refused",
                None,
                "The object store refused the upload; ask for a new one, it may have expired.",
                None,
            )

    def _current_token(self) -> str:
        token = self._token() if callable(self._token) else self._token
        if not token:
            raise CustodyClientError("This call needs a token; give one to Client.")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise CustodyClientError("The token holds characters that no bearer token has.")
        return token

    def _exchange(
        self,
        method: str,
        path: str,
        content: bytes | None,
        params: Mapping[str, str | int],
        headers: Mapping[str, str],
    ) -> httpx2.Response:
        import httpx2

        try:
            return self._http.request(
                method, self._base + path, content=content, params=params, headers=headers
            )
        except httpx2.TransportError as error:
            raise _unreachable(self._base, error) from error


def new_idempotency_key() -> str:
    return str(uuid.uuid4())


def backoff(error: Exception) -> bool | float:
    """Whether to try again: False, True (with stamina's own jittered backoff), or in how many
    seconds (Retry-After)."""
    if not isinstance(error, CustodyApiError) or error.status not in RETRIED_STATUSES:
        return False
    if error.retry_after is None:
        return True
    return error.retry_after if error.retry_after <= LONGEST_WAIT else False


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """RFC 9110 10.2.3: seconds, or an HTTP date. Anything else is no value."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - now).total_seconds())


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _unreachable(where: str, error: httpx2.TransportError) -> CustodyUnreachableError:
    import httpx2

    if isinstance(error, httpx2.TimeoutException):
        return CustodyUnreachableError(f"{where} did not answer in time", timed_out=True)
    return CustodyUnreachableError(f"{where} can't be reached ({type(error).__name__}: {error})")


def _object(response: httpx2.Response) -> dict[str, object]:
    if not response.content:
        return {}
    try:
        value = json.loads(response.content)
    except ValueError as error:
        raise CustodyUnreachableError(
            f"The reply to {response.request.method} {response.request.url.path} is no JSON; "
            "is this address a Custody API?"
        ) from error
    if not isinstance(value, dict):
        raise CustodyUnreachableError("The reply is no JSON object; is this address a Custody API?")
    return value


def _problem(response: httpx2.Response) -> CustodyApiError:
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    body = body if isinstance(body, dict) else {}

    def text(*names: str) -> str | None:
        return next((str(body[name]) for name in names if body.get(name) is not None), None)

    return CustodyApiError(
        response.status_code,
        text("code") or f"http-{response.status_code}",
        text("field"),
        text("detail", "title", "message") or response.reason_phrase or "no reason given",
        text("trace_id"),
        retry_after=retry_after_seconds(response.headers.get("retry-after"), datetime.now(UTC)),
    )
