"""How a key is named: by what it is, so that a name can't be moved to another key."""

from __future__ import annotations

import hashlib


def keyid(subject_public_key_info: bytes) -> str:
    """Hex SHA-256 of the DER of the public key (SubjectPublicKeyInfo, RFC 5280)."""
    return hashlib.sha256(subject_public_key_info).hexdigest()
