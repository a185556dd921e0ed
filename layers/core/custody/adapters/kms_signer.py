"""Signs with AWS KMS, ECDSA P-256 (key spec ECC_NIST_P256, usage SIGN_VERIFY).

The message type is always DIGEST and the digest is computed here, once: what KMS signs is then the
same on every implementation, whatever the size. The key is named by its ARN, never by an alias: a
policy that names the key's ARN does not cover an alias. The signature is DER.
"""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
)

from custody.domain.model import Envelope, KeyState, VerificationKey
from custody.domain.provenance.dsse import pae
from custody.domain.provenance.keys import keyid
from custody.errors import ConfigurationError, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient

    from custody.application.ports import Clock


def connect() -> KMSClient:
    """A client that gives up: two seconds to connect, five to answer, three attempts."""
    return boto3.client(
        "kms",
        config=Config(
            connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3}
        ),
    )


class KmsSigner:
    """``purpose``: "ingestion" or "policy". The public key is asked for once."""

    def __init__(self, kms: KMSClient, key_arn: str, purpose: str, clock: Clock) -> None:
        if ":alias/" in key_arn or not key_arn.startswith("arn:"):
            raise ConfigurationError("A signing key is named by its ARN.")
        self._kms = kms
        self._key_arn = key_arn
        self._purpose = purpose
        self._clock = clock
        self._key: VerificationKey | None = None
        self._lock = threading.Lock()

    def sign(self, payload_type: str, payload: bytes) -> Envelope:
        name = self.verification_key().keyid
        digest = hashlib.sha256(pae(payload_type, payload)).digest()
        try:
            reply = self._kms.sign(
                KeyId=self._key_arn,
                Message=digest,
                MessageType="DIGEST",
                SigningAlgorithm="ECDSA_SHA_256",
            )
        except (BotoCoreError, ClientError) as error:
            raise _unavailable(error) from error
        return Envelope(payload_type, payload, name, reply["Signature"])

    def verification_key(self) -> VerificationKey:
        """``not_before`` is the time of the first call in this process: whoever registers the key
        keeps the first one. Raises ConfigurationError for a key that is not P-256."""
        with self._lock:
            if self._key is None:
                self._key = self._fetch()
            return self._key

    def _fetch(self) -> VerificationKey:
        try:
            der = self._kms.get_public_key(KeyId=self._key_arn)["PublicKey"]
        except (BotoCoreError, ClientError) as error:
            raise _unavailable(error) from error
        public = load_der_public_key(der)
        if not isinstance(public, ec.EllipticCurvePublicKey) or not isinstance(
            public.curve, ec.SECP256R1
        ):
            raise ConfigurationError("The signing key in KMS must be of spec ECC_NIST_P256.")
        return VerificationKey(
            keyid=keyid(der),
            purpose=self._purpose,
            public_key_pem=public.public_bytes(
                Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
            ).decode("ascii"),
            state=KeyState.ACTIVE,
            not_before=self._clock.now(),
        )


def _unavailable(error: Exception) -> Unavailable:
    """The cause's kind only: its text may name accounts and keys."""
    kind = (
        error.response.get("Error", {}).get("Code", "ClientError")
        if isinstance(error, ClientError)
        else type(error).__name__
    )
    return Unavailable(f"The signing key can't be used: {kind}.", code="signer-unavailable")
