"""DSSE v1.0: what is signed (PAE), and the envelope's JSON form.

Source: https://github.com/secure-systems-lab/dsse, protocol.md and envelope.md. Lengths in the
PAE count bytes, never characters.
"""

from __future__ import annotations

import base64
import binascii

from custody.domain.model import Envelope
from custody.domain.provenance.canonical import canonical_json, parse_json
from custody.errors import IntegrityError


def pae(payload_type: str, payload: bytes) -> bytes:
    """``DSSEv1 SP LEN(type) SP type SP LEN(body) SP body``: the bytes that are hashed and
    signed."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def encode(envelope: Envelope) -> bytes:
    """The JSON form with standard base64, in canonical JSON."""
    return canonical_json(
        {
            "payload": base64.b64encode(envelope.payload).decode("ascii"),
            "payloadType": envelope.payload_type,
            "signatures": [
                {
                    "keyid": envelope.keyid,
                    "sig": base64.b64encode(envelope.signature).decode("ascii"),
                }
            ],
        }
    )


def decode(data: bytes) -> Envelope:
    """Read the JSON form strictly: exactly its fields, one signature, standard or URL-safe base64
    without stray characters. Raises IntegrityError(malformed-envelope)."""
    try:
        outer = _members(parse_json(data), {"payload", "payloadType", "signatures"})
        signatures = outer["signatures"]
        if not isinstance(signatures, list) or len(signatures) != 1:
            raise ValueError("one signature is expected")
        inner = _members(signatures[0], {"keyid", "sig"})
        return Envelope(
            payload_type=_text(outer["payloadType"]),
            payload=_base64(outer["payload"]),
            keyid=_text(inner["keyid"]),
            signature=_base64(inner["sig"]),
        )
    except ValueError as error:
        raise IntegrityError(f"No DSSE envelope: {error}.", code="malformed-envelope") from None
    except IntegrityError as error:
        raise IntegrityError(error.detail, code="malformed-envelope") from None


def _members(value: object, names: set[str]) -> dict[str, object]:
    if not isinstance(value, dict) or value.keys() != names:
        raise ValueError(f"an object with exactly {', '.join(sorted(names))} is expected")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text is missing")
    return value


def _base64(value: object) -> bytes:
    text = _text(value)
    try:
        if "-" in text or "_" in text:
            return base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise ValueError("base64 is expected") from None
