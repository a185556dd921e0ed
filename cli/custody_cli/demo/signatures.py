"""Checks a statement as an auditor would: with the public key alone, apart from the service."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key


def verify(envelope: Mapping[str, object], public_key_der: bytes) -> dict[str, Any]:
    """The statement inside. Raises ValueError when the signature isn't this key's.

    DSSE v1: the signature covers ``DSSEv1 SP LEN(type) SP type SP LEN(body) SP body``.
    """
    kind = str(envelope["payloadType"]).encode()
    payload = base64.b64decode(str(envelope["payload"]))
    signature = base64.b64decode(cast("Any", envelope["signatures"])[0]["sig"])
    covered = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    key = load_der_public_key(public_key_der)
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise ValueError("the key is no elliptic-curve key")
    try:
        key.verify(signature, covered, ec.ECDSA(SHA256()))
    except InvalidSignature:
        raise ValueError("the signature is not of this key over this statement") from None
    statement: dict[str, Any] = json.loads(payload)
    return statement


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
