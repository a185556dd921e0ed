"""Only a token of the issuer, for this audience, in time and of a tenant opens anything."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from custody_local.issuer import load_keys
from tests.e2e.bad_input.conftest import Canary
from tests.support.service import Person, new_tenant, refusal

pytestmark = pytest.mark.usefixtures("unharmed")

type Forge = Callable[[Canary], str | None]


def claims(canary: Canary, **changes: Any) -> dict[str, Any]:
    now = int(time.time())
    told = {
        "iss": canary.service.state.issuer,
        "aud": canary.service.state.audience,
        "sub": "pat",
        "iat": now,
        "exp": now + 600,
        "tenant": canary.tenant,
        "groups": ["publishers"],
        "scope": "custody/read custody/write custody/erase custody/govern custody/audit",
    }
    return told | changes


def issuer_key(canary: Canary) -> ECKey:
    keys = load_keys(canary.service.stack.folder / "issuer-keys.json").keys
    return next(key for key in keys if isinstance(key, ECKey))


def signed(canary: Canary, **changes: Any) -> str:
    key = issuer_key(canary)
    return jwt.encode({"alg": "ES256", "kid": key.kid}, claims(canary, **changes), key)


def encoded(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def unsigned(canary: Canary) -> str:
    header = {"alg": "none", "kid": issuer_key(canary).kid}
    return f"{encoded(header)}.{encoded(claims(canary))}."


def signature_cut_off(canary: Canary) -> str:
    return signed(canary).rpartition(".")[0] + "."


def changed_after_signing(canary: Canary) -> str:
    header, _, signature = signed(canary).split(".")
    return f"{header}.{encoded(claims(canary, sub='root'))}.{signature}"


def stranger_under_a_known_kid(canary: Canary) -> str:
    kid = issuer_key(canary).kid
    return jwt.encode({"alg": "ES256", "kid": kid}, claims(canary), ECKey.generate_key("P-256"))


def unknown_kid(canary: Canary) -> str:
    key = ECKey.generate_key("P-256")
    return jwt.encode({"alg": "ES256", "kid": "nobody"}, claims(canary), key)


def public_key_as_a_secret(canary: Canary) -> str:
    """The old trick: what everyone may know, taken for a shared secret."""
    key = issuer_key(canary)
    head, body = encoded({"alg": "HS256", "kid": key.kid}), encoded(claims(canary))
    mac = hmac.new(key.as_pem(private=False), f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def key_in_its_own_header(canary: Canary) -> str:
    key = ECKey.generate_key("P-256")
    header = {"alg": "ES256", "kid": "own", "jwk": key.as_dict(private=False)}
    return jwt.encode(header, claims(canary), key)


def with_claims(**changes: Any) -> Forge:
    return lambda canary: signed(canary, **changes)


FORGED: dict[str, Forge] = {
    "nothing": lambda _: None,
    "noise": lambda _: "x.y.z",
    "an unsigned one": unsigned,
    "one with its signature cut off": signature_cut_off,
    "one changed after signing": changed_after_signing,
    "a stranger's under a known kid": stranger_under_a_known_kid,
    "one with an unknown kid": unknown_kid,
    "one keyed by the public key": public_key_as_a_secret,
    "one that brings its own key": key_in_its_own_header,
    "an expired one": with_claims(iat=int(time.time()) - 7200, exp=int(time.time()) - 3600),
    "one of tomorrow": with_claims(nbf=int(time.time()) + 86_400),
    "another issuer's": with_claims(iss="https://elsewhere.example"),
    "one for another audience": with_claims(aud="elsewhere"),
    "one without a tenant": with_claims(tenant=None),
    "one of a tenant that can't be": with_claims(tenant="../public"),
    "one whose groups are elsewhere": with_claims(groups=[], _claim_names={"groups": "src1"}),
    "an old one that still runs": with_claims(
        iat=int(time.time()) - 7200, exp=int(time.time()) + 3600
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_bad_token_opens_nothing(canary: Canary, name: str) -> None:
    token = FORGED[name](canary)
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    reply = canary.service.send(
        "DELETE", "/documents/canary", content=b'{"reason": "mischief"}', headers=headers
    )
    assert reply.status_code == 401, reply.text


def test_another_scheme_opens_nothing(canary: Canary) -> None:
    headers = {"authorization": f"Basic {signed(canary)}"}
    assert canary.service.send("GET", "/documents", headers=headers).status_code == 401


def test_the_same_claims_signed_by_the_issuer_open_the_door(canary: Canary) -> None:
    """What the refusals above differ from."""
    for scheme in ("Bearer", "bearer", "BEARER"):
        headers = {"authorization": f"{scheme} {signed(canary)}"}
        reply = canary.service.send("GET", "/documents", headers=headers)
        assert reply.status_code == 200, scheme


def test_another_tenants_token_finds_nothing_here(canary: Canary) -> None:
    scopes = ("read", "write", "erase", "govern", "audit")
    stranger = canary.service.client(Person(new_tenant("far"), "pat", ("publishers",), scopes))
    assert stranger.search("where does the canary sing")["results"] == []
    assert stranger.list_documents()["documents"] == []
    assert stranger.list_sources()["sources"] == []
    for call in (
        lambda: stranger.get_document("canary"),
        lambda: stranger.provenance("canary"),
        lambda: stranger.delete_document("canary", "mischief"),
        lambda: stranger.set_acl("canary", ["everyone"]),
    ):
        assert refusal(call) == (404, "not-found")
    refused = refusal(lambda: stranger.put_document("canary", "wiki", "Mine.", "text/plain"))
    assert refused == (404, "source-not-found")


def test_each_route_asks_for_its_scope(canary: Canary) -> None:
    nobody = canary.service.client(Person(canary.tenant, "pat", ("publishers",), ()))
    for call in (
        lambda: nobody.search("canary"),
        lambda: nobody.answer("canary"),
        lambda: nobody.list_documents(),
        lambda: nobody.put_document("canary", "wiki", "Mine.", "text/plain"),
        lambda: nobody.delete_document("canary", "mischief"),
        lambda: nobody.put_source("wiki", trust_domain="official", writers=["user:pat"]),
        lambda: nobody.set_acl("canary", ["everyone"]),
        lambda: nobody.create_upload("wiki", "a.txt", "text/plain", 1),
    ):
        assert refusal(call) == (403, "scope-missing")


def test_only_governors_of_the_public_tenant_write_there(canary: Canary) -> None:
    writer = canary.service.client(
        Person("public", "pat", ("publishers",), ("read", "write", "erase"))
    )
    refused = refusal(
        lambda: writer.put_source("wiki", trust_domain="official", writers=["user:pat"])
    )
    assert refused == (403, "scope-missing")
    status, _ = refusal(lambda: writer.put_document("x", "wiki", "Public canary.", "text/plain"))
    assert status in {403, 404}
