"""Every signer makes what independent verifiers accept, and our verifier accepts nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import botocore.config
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.signer import Signature, SSlibKey  # type: ignore[attr-defined]  # public, but not marked so

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.adapters.kms_signer import KmsSigner
from custody.application.ports import Signer
from custody.domain.model import Envelope, KeyState, VerificationKey
from custody.domain.provenance import dsse, statement
from custody.domain.provenance.keys import keyid
from custody.errors import ConfigurationError, Unavailable
from custody_memory.signer import LocalSigner
from tests.support.signed_evidence import NOW

if TYPE_CHECKING:
    from mypy_boto3_kms.client import KMSClient
    from mypy_boto3_kms.literals import KeySpecType

VECTORS = Path(__file__).parents[1] / "vectors"
VERIFIER = EcdsaVerifier()
PAYLOAD = b'{"name":"caf\xc3\xa9"}'
LARGE = b"x" * 10_000  # above what KMS signs as RAW (4,096 bytes)


class FixedClock:
    def now(self) -> datetime:
        return NOW


def kms_client(url: str) -> KMSClient:
    return boto3.client(
        "kms",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=botocore.config.Config(
            retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=5
        ),
    )


def kms_key(client: KMSClient, spec: KeySpecType = "ECC_NIST_P256") -> str:
    made = client.create_key(KeySpec=spec, KeyUsage="SIGN_VERIFY")
    return made["KeyMetadata"]["Arn"]


@pytest.fixture(params=["local", pytest.param("kms", marks=pytest.mark.emulator)], scope="module")
def any_signer(request: pytest.FixtureRequest) -> Iterator[Signer]:
    if request.param == "local":
        yield LocalSigner.generate("ingestion", not_before=NOW)
        return
    client = kms_client(request.getfixturevalue("emulator_url"))
    yield KmsSigner(client, kms_key(client), "ingestion", FixedClock())
    client.close()


def other_key(key: VerificationKey) -> SSlibKey:
    return SSlibKey(key.keyid, "ecdsa", "ecdsa-sha2-nistp256", {"public": key.public_key_pem})


# what a signer gives


@pytest.mark.parametrize("payload", [b"", PAYLOAD, LARGE], ids=["empty", "small", "large"])
def test_two_independent_libraries_verify_what_a_signer_signs(
    any_signer: Signer, payload: bytes
) -> None:
    envelope = any_signer.sign(statement.PAYLOAD_TYPE, payload)
    key = any_signer.verification_key()
    assert (envelope.payload_type, envelope.payload) == (statement.PAYLOAD_TYPE, payload)

    public = load_pem_public_key(key.public_key_pem.encode())
    assert isinstance(public, ec.EllipticCurvePublicKey)
    signed = dsse.pae(statement.PAYLOAD_TYPE, payload)
    public.verify(envelope.signature, signed, ec.ECDSA(hashes.SHA256()))

    other = OtherEnvelope(
        payload,
        envelope.payload_type,
        {envelope.keyid: Signature(envelope.keyid, envelope.signature.hex())},
    )
    assert list(other.verify([other_key(key)], 1)) == [key.keyid]

    assert VERIFIER.verify(envelope, key)


def test_a_key_is_named_by_its_public_half(any_signer: Signer) -> None:
    key = any_signer.verification_key()
    der = load_pem_public_key(key.public_key_pem.encode()).public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    )
    assert key.keyid == keyid(der)
    assert any_signer.sign("t", b"p").keyid == key.keyid
    assert (key.purpose, key.state, key.not_before, key.not_after) == (
        "ingestion",
        KeyState.ACTIVE,
        NOW,
        None,
    )


def test_the_signature_is_der(any_signer: Signer) -> None:
    signature = any_signer.sign("t", b"p").signature
    assert encode_dss_signature(*decode_dss_signature(signature)) == signature


def test_what_one_signer_signs_another_s_key_does_not_verify(any_signer: Signer) -> None:
    stranger = LocalSigner.generate("ingestion", not_before=NOW).verification_key()
    envelope = any_signer.sign("t", b"p")
    assert not VERIFIER.verify(envelope, stranger)
    assert not VERIFIER.verify(replace(envelope, keyid=stranger.keyid), stranger)


@pytest.mark.emulator
def test_kms_signs_the_digest_and_is_told_so(emulator_url: str) -> None:
    client = kms_client(emulator_url)
    arn = kms_key(client)
    seen: list[dict[str, Any]] = []
    client.meta.events.register(
        "provide-client-params.kms.Sign", lambda params, **_: seen.append(dict(params))
    )
    KmsSigner(client, arn, "ingestion", FixedClock()).sign("t", LARGE)
    (request,) = seen
    assert request["MessageType"] == "DIGEST"
    assert request["SigningAlgorithm"] == "ECDSA_SHA_256"
    assert request["KeyId"] == arn
    digest = hashes.Hash(hashes.SHA256())
    digest.update(dsse.pae("t", LARGE))
    assert request["Message"] == digest.finalize()
    client.close()


@pytest.mark.emulator
def test_the_same_bytes_signed_as_digest_and_as_raw_verify_outside_kms(emulator_url: str) -> None:
    client = kms_client(emulator_url)
    arn = kms_key(client)
    signer = KmsSigner(client, arn, "ingestion", FixedClock())
    as_digest = signer.sign("t", PAYLOAD)
    as_raw = client.sign(
        KeyId=arn,
        Message=dsse.pae("t", PAYLOAD),
        MessageType="RAW",
        SigningAlgorithm="ECDSA_SHA_256",
    )["Signature"]
    for signature in (as_digest.signature, as_raw):
        assert VERIFIER.verify(replace(as_digest, signature=signature), signer.verification_key())
    client.close()


@pytest.mark.emulator
@pytest.mark.parametrize("state", ["disabled", "scheduled for deletion", "missing"])
def test_a_kms_key_that_can_not_be_used_is_an_outage_with_a_code(
    emulator_url: str, state: str
) -> None:
    client = kms_client(emulator_url)
    arn = kms_key(client)
    signer = KmsSigner(client, arn, "ingestion", FixedClock())
    if state == "missing":
        signer = KmsSigner(client, arn[:-4] + "0000", "ingestion", FixedClock())
    else:
        signer.verification_key()
        if state == "disabled":
            client.disable_key(KeyId=arn)
        else:
            client.schedule_key_deletion(KeyId=arn, PendingWindowInDays=7)
    with pytest.raises(Unavailable) as caught:
        signer.sign("t", b"p")
    assert (caught.value.code, caught.value.status) == ("signer-unavailable", 503)
    assert arn not in caught.value.detail
    client.close()


def test_a_kms_that_can_not_be_reached_is_an_outage_with_a_code() -> None:
    client = kms_client("http://127.0.0.1:9")  # the discard port: nothing listens
    signer = KmsSigner(client, "arn:aws:kms:us-east-1:0:key/x", "ingestion", FixedClock())
    for call in (lambda: signer.sign("t", b"p"), signer.verification_key):
        with pytest.raises(Unavailable) as caught:
            call()
        assert caught.value.code == "signer-unavailable"
    client.close()


@pytest.mark.emulator
def test_a_kms_key_of_another_curve_is_a_fault_of_the_deployment(emulator_url: str) -> None:
    client = kms_client(emulator_url)
    signer = KmsSigner(client, kms_key(client, "ECC_NIST_P384"), "ingestion", FixedClock())
    with pytest.raises(ConfigurationError):
        signer.sign("t", b"p")
    client.close()


@pytest.mark.parametrize("name", ["alias/custody", "arn:aws:kms:us-east-1:0:alias/custody", "id"])
def test_a_kms_key_is_named_by_its_arn_only(name: str) -> None:
    with pytest.raises(ConfigurationError):
        KmsSigner(None, name, "ingestion", FixedClock())  # type: ignore[arg-type]  # refused before it is used


def test_a_local_key_lies_on_p_256_only() -> None:
    with pytest.raises(ConfigurationError):
        LocalSigner(ec.generate_private_key(ec.SECP384R1()), "ingestion", not_before=NOW)


# what the verifier takes


def specification_vector() -> tuple[VerificationKey, Envelope, bytes]:
    """secure-systems-lab/dsse, protocol.md: the key, what was signed, and raw r and s."""
    public = ec.EllipticCurvePublicNumbers(
        46950820868899156662930047687818585632848591499744589407958293238635476079160,
        5640078356564379163099075877009565129882514886557779369047442380624545832820,
        ec.SECP256R1(),
    ).public_key()
    raw = base64.b64decode(
        "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="
    )
    return (
        VerificationKey(
            "spec",
            "ingestion",
            public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
            KeyState.ACTIVE,
            NOW,
        ),
        Envelope("http://example.com/HelloWorld", b"hello world", "spec", b""),
        raw,
    )


def test_the_specification_s_signature_verifies_as_der_and_is_refused_as_raw_r_and_s() -> None:
    key, envelope, raw = specification_vector()
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:])
    assert VERIFIER.verify(replace(envelope, signature=encode_dss_signature(r, s)), key)
    assert not VERIFIER.verify(replace(envelope, signature=raw), key)


def test_a_golden_statement_of_ours_still_verifies_everywhere() -> None:
    envelope = dsse.decode((VECTORS / "statement.dsse.json").read_bytes())
    pem = (VECTORS / "statement.pem").read_text()
    key = VerificationKey(envelope.keyid, "ingestion", pem, KeyState.ACTIVE, NOW)
    assert VERIFIER.verify(envelope, key)
    read = statement.parse(envelope.payload)
    assert (read.key.document_id, read.version, read.chunk_count) == ("wiki:golden", 3, 3)
    other_key(key).verify_signature(
        Signature(key.keyid, envelope.signature.hex()),
        dsse.pae(envelope.payload_type, envelope.payload),
    )


@pytest.fixture(scope="module")
def signed() -> tuple[Envelope, VerificationKey]:
    signer = LocalSigner.generate("ingestion", not_before=NOW)
    return signer.sign("type", PAYLOAD), signer.verification_key()


def test_raw_r_and_s_are_refused_where_der_is_expected(
    signed: tuple[Envelope, VerificationKey],
) -> None:
    envelope, key = signed
    r, s = decode_dss_signature(envelope.signature)
    raw = r.to_bytes(32) + s.to_bytes(32)
    assert not VERIFIER.verify(replace(envelope, signature=raw), key)


def test_short_r_and_s_verify_as_der_writes_them() -> None:
    """One signature in 128 has a component of under 32 bytes: DER leaves the zeros out."""
    signer = LocalSigner.generate("ingestion", not_before=NOW)
    key = signer.verification_key()
    for number in range(20_000):
        envelope = signer.sign("type", b"%d" % number)
        if min(decode_dss_signature(envelope.signature)).bit_length() <= 248:
            assert VERIFIER.verify(envelope, key)
            other_key(key).verify_signature(
                Signature(key.keyid, envelope.signature.hex()),
                dsse.pae("type", envelope.payload),
            )
            return
    pytest.fail("no short component in 20,000 signatures")


def test_anything_changed_is_refused(signed: tuple[Envelope, VerificationKey]) -> None:
    envelope, key = signed
    assert VERIFIER.verify(envelope, key)
    for changed in (
        replace(envelope, payload=envelope.payload + b" "),
        replace(envelope, payload_type="typf"),
        replace(envelope, payload_type=""),
        replace(envelope, payload_type="\ud800"),
        replace(envelope, keyid="another"),
        replace(envelope, signature=b""),
        replace(envelope, signature=envelope.signature + b"\x00"),
        replace(envelope, signature=envelope.signature[:-1]),
    ):
        assert not VERIFIER.verify(changed, key)


@given(st.binary(max_size=80))
def test_no_signature_makes_the_verifier_raise(signature: bytes) -> None:
    signer = LocalSigner.generate("ingestion", not_before=NOW)
    envelope = replace(signer.sign("type", b"p"), signature=signature)
    assert not VERIFIER.verify(envelope, signer.verification_key())


@pytest.mark.parametrize("pem", ["", "nonsense", "-----BEGIN PUBLIC KEY-----\n", "\ud800", "ключ"])
def test_no_public_key_makes_the_verifier_raise(
    signed: tuple[Envelope, VerificationKey], pem: str
) -> None:
    envelope, key = signed
    assert not VERIFIER.verify(envelope, replace(key, public_key_pem=pem))


@pytest.mark.parametrize(
    "private", [Ed25519PrivateKey.generate(), ec.generate_private_key(ec.SECP384R1())]
)
def test_a_key_of_another_kind_verifies_nothing(
    signed: tuple[Envelope, VerificationKey], private: Any
) -> None:
    envelope, key = signed
    pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert not VERIFIER.verify(envelope, replace(key, public_key_pem=pem.decode()))
    data = dsse.pae(envelope.payload_type, envelope.payload)
    with pytest.raises((InvalidSignature, TypeError)):
        private.public_key().verify(envelope.signature, data, ec.ECDSA(hashes.SHA256()))


def test_a_good_signature_on_another_curve_is_refused() -> None:
    private = ec.generate_private_key(ec.SECP384R1())
    pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    key = VerificationKey("k", "ingestion", pem.decode(), KeyState.ACTIVE, NOW)
    data = dsse.pae("type", PAYLOAD)
    signature = private.sign(data, ec.ECDSA(hashes.SHA256()))
    private.public_key().verify(signature, data, ec.ECDSA(hashes.SHA256()))
    assert not VERIFIER.verify(Envelope("type", PAYLOAD, "k", signature), key)
