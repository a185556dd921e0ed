"""Signs with a P-256 key held in this process: for one machine, benchmarks and tests.

The same form as KMS gives: DER, over the SHA-256 of the PAE that is computed here.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from custody.domain.model import Envelope, KeyState, VerificationKey
from custody.domain.provenance.dsse import pae
from custody.domain.provenance.keys import keyid
from custody.errors import ConfigurationError

_PREHASHED = ec.ECDSA(Prehashed(SHA256()))


class LocalSigner:
    """``purpose``: "ingestion" or "policy". ``not_before``: when the key came into use."""

    def __init__(
        self, private_key: ec.EllipticCurvePrivateKey, purpose: str, *, not_before: datetime
    ) -> None:
        if not isinstance(private_key.curve, ec.SECP256R1):
            raise ConfigurationError("A signing key must lie on the curve P-256.")
        public = private_key.public_key()
        self._private_key = private_key
        self._key = VerificationKey(
            keyid=keyid(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)),
            purpose=purpose,
            public_key_pem=public.public_bytes(
                Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
            ).decode("ascii"),
            state=KeyState.ACTIVE,
            not_before=not_before,
        )

    @classmethod
    def generate(cls, purpose: str, *, not_before: datetime) -> LocalSigner:
        return cls(ec.generate_private_key(ec.SECP256R1()), purpose, not_before=not_before)

    def sign(self, payload_type: str, payload: bytes) -> Envelope:
        digest = hashlib.sha256(pae(payload_type, payload)).digest()
        return Envelope(
            payload_type=payload_type,
            payload=payload,
            keyid=self._key.keyid,
            signature=self._private_key.sign(digest, _PREHASHED),
        )

    def verification_key(self) -> VerificationKey:
        return self._key
