"""Every error that Custody raises on purpose.

``CustodyError`` is the root. Each error carries a stable ``code`` (kebab case, part of the HTTP
contract), the HTTP ``status`` it maps to, an optional ``field`` at fault and a ``detail`` sentence
that is safe to show to the caller: it never holds a secret, a stack trace or the existence of
something that the caller may not see.

=====================  ======  =====================================================================
class                  status  codes
=====================  ======  =====================================================================
``BadRequest``         400     malformed-json, invalid-utf8, …
``Unauthenticated``    401     token-missing, token-invalid, token-expired, tenant-missing, …
``Forbidden``          403     scope-missing, not-a-writer, …
``NotFound``           404     not-found (also for what exists and may not be seen)
``Conflict``           409     document-owned-elsewhere, version-conflict, idempotency-in-progress
``PreconditionFailed`` 412     if-match-failed
``TooLarge``           413     body-too-large, object-too-large
``UnsupportedMedia``   415     type-not-supported, type-mismatch
``Unprocessable``      422     invalid-field, unknown-field, acl-required, not-available, …
``TooManyRequests``    429     throttled, quota-exceeded
``Unavailable``        503     index-unavailable, ledger-unavailable, signer-unavailable,
                               store-unavailable, policy-unavailable, model-unavailable
``Rejected``           —       a drop that can't become a document; its codes go to the reject record
``IntegrityError``     —       bytes that fail a digest, a signature or a schema they must satisfy
``ConfigurationError`` —       the deployment itself is wrong; raised at start
=====================  ======  =====================================================================
"""

from __future__ import annotations


class CustodyError(Exception):
    """Root of the tree. ``status`` is the HTTP status that the edge answers with."""

    status = 500
    default_code = "internal"

    def __init__(self, detail: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(detail)
        self.code = code or self.default_code
        self.field = field
        self.detail = detail

    def __str__(self) -> str:
        where = f" ({self.field})" if self.field else ""
        return f"{self.code}{where}: {self.detail}"


class BadRequest(CustodyError):
    status = 400
    default_code = "bad-request"


class Unauthenticated(CustodyError):
    status = 401
    default_code = "token-invalid"


class Forbidden(CustodyError):
    status = 403
    default_code = "forbidden"


class NotFound(CustodyError):
    status = 404
    default_code = "not-found"


class Conflict(CustodyError):
    status = 409
    default_code = "version-conflict"


class PreconditionFailed(CustodyError):
    status = 412
    default_code = "if-match-failed"


class TooLarge(CustodyError):
    status = 413
    default_code = "body-too-large"


class UnsupportedMedia(CustodyError):
    status = 415
    default_code = "type-not-supported"


class Unprocessable(CustodyError):
    status = 422
    default_code = "invalid-field"


class TooManyRequests(CustodyError):
    status = 429
    default_code = "throttled"


class Unavailable(CustodyError):
    """A dependency can't answer. Never turned into an empty result."""

    status = 503
    default_code = "unavailable"


class Rejected(CustodyError):
    """A drop that can't become a document. It is kept under the reject prefix with this reason."""

    status = 422
    default_code = "rejected"


class IntegrityError(CustodyError):
    default_code = "integrity"


class ConfigurationError(CustodyError):
    default_code = "configuration"
