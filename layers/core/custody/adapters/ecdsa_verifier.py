"""Verifies DSSE signatures: ECDSA on P-256 over SHA-256, in DER. Local, with the public key only.

The encoding is fixed: DER as KMS and FIPS 186 tooling write it. Raw r and s, another curve, another
kind of key or anything malformed is simply not a valid signature.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from custody.domain.model import Envelope, VerificationKey
from custody.domain.provenance.dsse import pae

_ALGORITHM = ec.ECDSA(SHA256())


@lru_cache(maxsize=64)
def _public_key(pem: str) -> ec.EllipticCurvePublicKey | None:
    try:
        key = load_pem_public_key(pem.encode("ascii"))
    except (ValueError, UnsupportedAlgorithm):  # UnicodeEncodeError is a ValueError
        return None
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    return None


class EcdsaVerifier:
    def verify(self, envelope: Envelope, key: VerificationKey) -> bool:
        """Cryptography only; the key's state and window are the caller's to judge. The
        envelope's own key id is only compared. Never raises on bad input."""
        public = _public_key(key.public_key_pem)
        if public is None or envelope.keyid != key.keyid:
            return False
        try:
            signed = pae(envelope.payload_type, envelope.payload)
            public.verify(envelope.signature, signed, _ALGORITHM)
        except (InvalidSignature, UnicodeEncodeError):
            return False
        return True
