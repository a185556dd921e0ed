"""Every error that Custody raises on purpose.

``CustodyError`` is the root. Each error carries a stable ``code`` (kebab case, part of the HTTP
contract), the HTTP ``status`` it maps to, an optional ``field`` at fault and a ``detail`` sentence
that is safe to show to the caller: it never holds a secret, a stack trace or the existence of
something that the caller may not see.

=====================  ======  =====================================================================
class                  status  codes
=====================  ======  =====================================================================
``BadRequest``         400     bad-request, malformed-json, malformed-body, invalid-utf8,
                               unexpected-body, invalid-cursor
``Unauthenticated``    401     token-missing, token-invalid, token-expired, token-revoked,
                               tenant-missing, groups-incomplete
``Forbidden``          403     forbidden, scope-missing, not-a-writer, not-an-operator
``NotFound``           404     not-found (also for what exists and may not be seen),
                               source-not-found, key-not-found, policy-not-found
``Conflict``           409     version-conflict, document-owned-elsewhere, document-not-live, document-withdrawn,
                               document-erased, source-quarantined, source-retired, source-not-found, key-revoked,
                               last-active-key, no-earlier-policy, policy-unusable,
                               idempotency-in-progress, index-in-use
``Moved``              409     version-conflict. A Conflict: what was read has changed since, so to
                               read it again and decide anew may do
``PreconditionFailed`` 412     if-match-failed
``TooLarge``           413     body-too-large, object-too-large, item-too-large
``UnsupportedMedia``   415     type-not-supported, type-mismatch, and what else of Rejected a
                               first look at the bytes finds
``Unprocessable``      422     invalid-field, unknown-field, unknown-source, unknown-trust-domain, not-available, acl-required,
                               acl-too-wide, empty-document, invalid-path, invalid-policy, reserved-document-id,
                               query-not-embeddable, reply-too-large, idempotency-key-reused; and
                               the code of Rejected when a posted document was rejected
``Unavailable``        503     unavailable, index-unavailable, index-mapping-mismatch,
                               model-revision-mismatch, ledger-unavailable, layout-outdated,
                               policy-unavailable,
                               model-unavailable, store-unavailable, queue-unavailable,
                               trace-unavailable, idempotency-unavailable, signer-unavailable,
                               issuer-unavailable, parser-unavailable, erasure-partial,
                               expiry-partial, build-busy
``NoControlItem``      503     policy-unavailable. An Unavailable: nothing has been deployed yet
``Rejected``           —       a drop or a version that can't become a document; the code goes to
                               its record and to the reject record: rejected, type-not-supported,
                               type-mismatch, charset-not-supported, invalid-charset, invalid-utf8,
                               empty-document, document-too-large, document-too-complex,
                               too-much-text, too-many-chunks, object-too-large, malformed-json,
                               malformed-csv, malformed-pdf, encrypted-pdf, invalid-path,
                               unknown-source,
                               source-quarantined, source-retired, acl-required, acl-too-wide,
                               sidecar-forbidden, sidecar-of-a-sidecar, model-revision-changed,
                               document-owned-elsewhere
``NotUtf8``            —       a Rejected: invalid-utf8
``BrokenSidecar``      —       a Rejected: sidecar-malformed, sidecar-too-large,
                               sidecar-claims-trust, sidecar-acl-too-wide
``IntegrityError``     —       bytes that fail a digest, a signature or a schema they must satisfy;
                               told to callers as internal, or as 503 where the index is at fault.
                               Its codes go to the log: integrity, malformed-json, malformed-event,
                               malformed-job, malformed-item, malformed-chunks, malformed-envelope,
                               malformed-statement, malformed-trace, not-canonical, not-verified, root-mismatch,
                               parts-missing, vectors-missing, unknown-part, source-missing,
                               source-undated,
                               statement-missing, statement-incomplete, erasure-missing,
                               index-incomplete, index-entry-refused, index-mapping-mismatch,
                               index-served, model-revision-mismatch, model-altered, invalid-vector,
                               invalid-leg, invalid-fusion, invalid-candidate, invalid-policy,
                               lineage-missing, tenant-mismatch, ledger-request, build-missing,
                               undeclared-reply
``ConfigurationError`` —       the deployment itself is wrong; raised at start: configuration,
                               model-manifest-invalid, bucket-not-versioned, queue-missing,
                               index-schema
=====================  ======  =====================================================================
"""

from __future__ import annotations


class CustodyError(Exception):
    """Root of the tree. ``status`` is the HTTP status that the edge answers with."""

    status = 500
    default_code = "internal"

    def __init__(self, detail: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(detail)
        self.code = str(code or self.default_code)  # plain text of an enum's member too
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


class Moved(Conflict):
    """What a write was decided on is no longer what is stored."""


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


class Unavailable(CustodyError):
    """A dependency can't answer. Never turned into an empty result."""

    status = 503
    default_code = "unavailable"


class NoControlItem(Unavailable):
    """Nothing governs the service: no deployment has registered its keys yet."""

    default_code = "policy-unavailable"


class Rejected(CustodyError):
    """A drop that can't become a document. It is kept under the reject prefix with this reason."""

    status = 422
    default_code = "rejected"


class NotUtf8(Rejected):
    """Bytes that were taken for UTF-8 text and are none."""

    default_code = "invalid-utf8"


class BrokenSidecar(Rejected):
    """A sidecar that was meant to govern access and can't be followed."""

    default_code = "sidecar-malformed"


class IntegrityError(CustodyError):
    default_code = "integrity"


class ConfigurationError(CustodyError):
    default_code = "configuration"
