"""Signatures: made by a key that never leaves its keeper, checked here."""

from __future__ import annotations

from typing import Protocol

from custody.domain.model import Envelope, VerificationKey


class Signer(Protocol):
    """Raises Unavailable(code="signer-unavailable")."""

    def sign(self, payload_type: str, payload: bytes) -> Envelope:
        """DSSE: an ECDSA P-256 signature (DER) over SHA-256 of the PAE, digest computed here."""
        ...

    def verification_key(self) -> VerificationKey: ...


class Verifier(Protocol):
    def verify(self, envelope: Envelope, key: VerificationKey) -> bool:
        """Cryptography only: the key's state is not looked at. Never raises on bad input."""
        ...
