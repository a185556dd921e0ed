"""The digest of what is served."""

from __future__ import annotations

import hashlib


def text_sha256(text: str) -> str:
    """Hex SHA-256 of the text in UTF-8: the digest that results and envelopes show."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
