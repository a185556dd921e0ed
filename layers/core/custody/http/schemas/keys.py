"""The keys of the trust set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import StringConstraints

from custody.application.governance.key_registry import MAX_REASON_CHARACTERS, KeyRequest
from custody.domain.model import VerificationKey
from custody.http.schemas.common import Schema, Timestamp


class KeyStateBody(Schema):
    """``force``: also where no other active key of its purpose is left."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=MAX_REASON_CHARACTERS)]
    force: bool = False


class KeyReply(Schema):
    """``public_key_pem``: SubjectPublicKeyInfo; ``keyid`` is the SHA-256 of its DER."""

    keyid: str
    purpose: str
    state: str
    not_before: Timestamp
    not_after: Timestamp | None
    public_key_pem: str


class KeysReply(Schema):
    keys: list[KeyReply]


def key_request(keyid: str, body: KeyStateBody) -> KeyRequest:
    return KeyRequest(keyid, body.reason, body.force)


def key_reply(key: VerificationKey) -> KeyReply:
    return KeyReply(
        keyid=key.keyid,
        purpose=key.purpose,
        state=key.state.value,
        not_before=key.not_before,
        not_after=key.not_after,
        public_key_pem=key.public_key_pem,
    )


def keys_reply(keys: Sequence[VerificationKey]) -> KeysReply:
    return KeysReply(keys=[key_reply(key) for key in keys])
