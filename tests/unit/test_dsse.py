"""Vectors: secure-systems-lab/dsse, protocol.md."""

import base64
import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope

from custody.domain.model import Envelope
from custody.domain.provenance import dsse
from custody.errors import IntegrityError

HELLO = ("http://example.com/HelloWorld", b"hello world")
X = 46950820868899156662930047687818585632848591499744589407958293238635476079160
Y = 5640078356564379163099075877009565129882514886557779369047442380624545832820
SIGNATURE = base64.b64decode(
    "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="
)


def test_the_pae_equals_the_specification_s_example() -> None:
    assert dsse.pae(*HELLO) == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_the_specification_s_signature_verifies_over_our_pae() -> None:
    key = ec.EllipticCurvePublicNumbers(X, Y, ec.SECP256R1()).public_key()
    r, s = (int.from_bytes(SIGNATURE[at : at + 32]) for at in (0, 32))
    der = encode_dss_signature(r, s)
    key.verify(der, dsse.pae(*HELLO), ec.ECDSA(hashes.SHA256()))


def test_lengths_count_bytes_not_characters() -> None:
    assert dsse.pae("é", "ü".encode()) == "DSSEv1 2 é 2 ü".encode()


@given(st.text(st.characters(exclude_categories=["Cs"])), st.binary())
def test_the_pae_equals_another_library_s(payload_type: str, payload: bytes) -> None:
    assert dsse.pae(payload_type, payload) == OtherEnvelope(payload, payload_type, {}).pae()


ENVELOPE = Envelope("application/vnd.in-toto+json", b'{"a":"\xc3\xa9"}', "key-1", b"\x30\x01\xff")


def test_an_envelope_comes_back_as_it_was_written() -> None:
    assert dsse.decode(dsse.encode(ENVELOPE)) == ENVELOPE


def test_another_library_reads_what_we_write() -> None:
    other = OtherEnvelope.from_dict(json.loads(dsse.encode(ENVELOPE)))
    assert other.payload == ENVELOPE.payload
    assert other.pae() == dsse.pae(ENVELOPE.payload_type, ENVELOPE.payload)
    assert bytes.fromhex(other.signatures["key-1"].signature) == ENVELOPE.signature


def test_url_safe_base64_is_read_too() -> None:
    value = json.loads(dsse.encode(ENVELOPE))
    value["payload"] = base64.urlsafe_b64encode(b"\xfb\xff\xfe").decode()
    assert dsse.decode(json.dumps(value).encode()).payload == b"\xfb\xff\xfe"


def _broken() -> dict[str, bytes]:
    good = json.loads(dsse.encode(ENVELOPE))
    signature = good["signatures"][0]
    variants = {
        "no JSON": b"{",
        "a list": b"[]",
        "an unknown member": {**good, "key": "embedded"},
        "a member too few": {"payload": good["payload"], "signatures": good["signatures"]},
        "no signature": {**good, "signatures": []},
        "two signatures": {**good, "signatures": [signature, signature]},
        "an unknown member of the signature": {
            **good,
            "signatures": [{**signature, "cert": "x"}],
        },
        "no key id": {**good, "signatures": [{"keyid": "", "sig": signature["sig"]}]},
        "no base64": {**good, "payload": "a b c d"},
        "base64 without padding": {**good, "payload": "YQ"},
        "a payload that is no text": {**good, "payload": 7},
    }
    return {
        name: value if isinstance(value, bytes) else json.dumps(value).encode()
        for name, value in variants.items()
    } | {"a name twice": dsse.encode(ENVELOPE)[:-1] + b',"payload":"YQ=="}'}


@pytest.mark.parametrize("data", _broken().values(), ids=_broken().keys())
def test_an_envelope_is_read_strictly(data: bytes) -> None:
    with pytest.raises(IntegrityError) as caught:
        dsse.decode(data)
    assert caught.value.code == "malformed-envelope"
