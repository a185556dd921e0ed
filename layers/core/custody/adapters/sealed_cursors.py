"""Page cursors that tell their holder nothing and can't be made by anybody else.

A cursor is the position in AES-256-GCM, padded so that its length tells nothing either; what is
listed, for whom, is the associated data.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable
from functools import cached_property

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from custody.errors import BadRequest

_NONCE_BYTES = 12
_BLOCK_BYTES = 256


class SealedCursors:
    """``secret`` gives 32 bytes; it is asked once, when a cursor is first needed."""

    def __init__(self, secret: Callable[[], bytes]) -> None:
        self._secret = secret

    @cached_property
    def _cipher(self) -> AESGCM:
        return AESGCM(self._secret())

    def seal(self, position: str | None, *, listing: bytes) -> str | None:
        if position is None:
            return None
        nonce = os.urandom(_NONCE_BYTES)
        text = position.encode("utf-8")
        padded = text + b"\x80" + b"\x00" * (-(len(text) + 1) % _BLOCK_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, padded, listing)
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode("ascii")

    def open(self, cursor: str | None, *, listing: bytes) -> str | None:
        if cursor is None:
            return None
        try:
            sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
            padded = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], listing)
        except (binascii.Error, ValueError, InvalidTag):
            raise BadRequest(
                "The cursor is not one of ours, or of another listing.",
                code="invalid-cursor",
                field="next",
            ) from None
        return padded.rstrip(b"\x00")[:-1].decode("utf-8")
