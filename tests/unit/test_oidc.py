from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry, serialize_compact

from custody.adapters.oidc import TokenAuthorizer
from custody.errors import ConfigurationError, Unauthenticated, Unavailable

ISSUER = "https://issuer.example"
JWKS = "https://issuer.example/keys"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
RSA = RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
EC = ECKey.generate_key("P-256", {"kid": "ec"}, private=True)
ED = OKPKey.generate_key("Ed25519", {"kid": "ed"}, private=True)
OTHER = RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)


class MovingClock:
    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment


class Issuer:
    """What the issuer publishes; counts how often it is asked."""

    def __init__(self, *keys: RSAKey | ECKey | OKPKey) -> None:
        self.keys = [key.as_dict(private=False) for key in keys]
        self.calls = 0
        self.down = False

    def fetch(self, url: str) -> bytes:
        self.calls += 1
        if self.down:
            raise Unavailable("The token issuer can't be reached.", code="issuer-unavailable")
        if url.endswith("/.well-known/openid-configuration"):
            return json.dumps({"issuer": ISSUER, "jwks_uri": JWKS}).encode()
        assert url == JWKS
        return json.dumps({"keys": self.keys}).encode()


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
def issuer() -> Issuer:
    return Issuer(RSA, EC, ED)


@pytest.fixture
def authorize(issuer: Issuer, clock: MovingClock) -> TokenAuthorizer:
    return TokenAuthorizer(
        issuer=ISSUER, audience="custody", clock=clock, jwks_url=JWKS, fetch=issuer.fetch
    )


def claims(**changes: Any) -> dict[str, Any]:
    base = {
        "iss": ISSUER,
        "aud": "custody",
        "sub": "ann",
        "tenant": "acme",
        "groups": ["staff"],
        "scope": "custody/read custody/audit",
        "iat": int(NOW.timestamp()) - 10,
        "nbf": int(NOW.timestamp()) - 10,
        "exp": int(NOW.timestamp()) + 600,
    } | changes
    return {name: value for name, value in base.items() if value is not None}


ALL = JWSRegistry(algorithms=["RS256", "RS384", "PS256", "ES256", "EdDSA", "HS256", "none"])


@pytest.fixture
def token() -> Callable[..., str]:
    def mint(key: Any = RSA, header: dict[str, Any] | None = None, **changes: Any) -> str:
        head = {"alg": "RS256", "kid": "rsa"} | (header or {})
        return "Bearer " + serialize_compact(head, json.dumps(claims(**changes)), key, registry=ALL)

    return mint


def code_of(authorize: TokenAuthorizer, value: str) -> str:
    with pytest.raises(Unauthenticated) as caught:
        authorize(value)
    return caught.value.code


def test_a_good_token_names_the_principal(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    principal = authorize(token())
    assert principal.subject == "ann"
    assert principal.tenant == "acme"
    assert principal.groups == {"staff"}
    assert principal.scopes == {"custody/read", "custody/audit"}
    assert principal.issued_at == NOW - timedelta(seconds=10)
    assert principal.expires_at == NOW + timedelta(seconds=600)


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
def test_each_allowed_algorithm_is_taken(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    assert authorize(token(EC, {"alg": "ES256", "kid": "ec"})).subject == "ann"
    assert authorize(token(ED, {"alg": "EdDSA", "kid": "ed"})).subject == "ann"


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic abc", "token"])
def test_no_bearer_token_is_token_missing(authorize: TokenAuthorizer, value: str) -> None:
    assert code_of(authorize, value) == "token-missing"


def b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def unsigned(header: dict[str, Any], signature: str = "") -> str:
    return f"Bearer {b64(json.dumps(header).encode())}.{b64(json.dumps(claims()).encode())}.{signature}"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", None, 1])
def test_an_unsigned_token_is_refused(authorize: TokenAuthorizer, alg: Any) -> None:
    assert code_of(authorize, unsigned({"alg": alg, "kid": "rsa"})) == "token-invalid"


def test_an_hmac_with_the_public_key_as_secret_is_refused(authorize: TokenAuthorizer) -> None:
    header = b64(json.dumps({"alg": "HS256", "kid": "rsa"}).encode())
    signed = f"{header}.{b64(json.dumps(claims()).encode())}"
    for secret in (RSA.as_pem(private=False), RSA.as_pem(private=False).strip()):
        mac = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
        assert code_of(authorize, f"Bearer {signed}.{b64(mac)}") == "token-invalid"


def test_a_symmetric_key_in_the_set_is_never_used(clock: MovingClock) -> None:
    secret = OctKey.import_key("a-secret-that-is-long-enough-for-hs256", {"kid": "oct"})
    issuer = Issuer(RSA)
    issuer.keys.append(secret.as_dict())
    authorize = TokenAuthorizer(
        issuer=ISSUER, audience="custody", clock=clock, jwks_url=JWKS, fetch=issuer.fetch
    )
    value = "Bearer " + jwt.encode({"alg": "HS256", "kid": "oct"}, claims(), secret, registry=ALL)
    assert code_of(authorize, value) == "token-invalid"


@pytest.mark.parametrize("alg", ["RS384", "PS256"])
def test_an_algorithm_off_the_list_is_refused(
    authorize: TokenAuthorizer, token: Callable[..., str], alg: str
) -> None:
    assert code_of(authorize, token(RSA, {"alg": alg})) == "token-invalid"


def test_a_key_serves_only_its_own_algorithm(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    assert code_of(authorize, token(EC, {"alg": "ES256", "kid": "rsa"})) == "token-invalid"


def test_another_key_under_a_known_kid_is_refused(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    assert code_of(authorize, token(OTHER)) == "token-invalid"


def test_a_key_in_the_header_is_not_trusted(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    value = token(OTHER, {"jwk": OTHER.as_dict(private=False)})
    assert code_of(authorize, value) == "token-invalid"


def test_a_token_without_kid_is_refused(authorize: TokenAuthorizer) -> None:
    value = "Bearer " + jwt.encode({"alg": "RS256"}, claims(), RSA, registry=ALL)
    assert code_of(authorize, value) == "token-invalid"


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_changed_byte_is_refused(
    authorize: TokenAuthorizer, token: Callable[..., str], part: int
) -> None:
    pieces = token().removeprefix("Bearer ").split(".")
    middle = len(pieces[part]) // 2
    swapped = "A" if pieces[part][middle] != "A" else "B"
    pieces[part] = pieces[part][:middle] + swapped + pieces[part][middle + 1 :]
    assert code_of(authorize, "Bearer " + ".".join(pieces)) == "token-invalid"


@pytest.mark.parametrize(
    "value", ["Bearer a", "Bearer a.b", "Bearer a.b.c", "Bearer a.b.c.d.e", "Bearer é.é.é",
              "Bearer " + "a" * 9000, "Bearer ..", "Bearer e30.e30."],
)  # fmt: skip
def test_what_is_no_token_is_refused(authorize: TokenAuthorizer, value: str) -> None:
    assert code_of(authorize, value) == "token-invalid"


def test_a_claim_that_is_given_twice_is_refused(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    twice = json.dumps(claims(tenant="other"))[:-1] + ',"tenant":"acme"}'
    head = {"alg": "RS256", "kid": "rsa"}
    assert code_of(authorize, "Bearer " + serialize_compact(head, twice, RSA)) == "token-invalid"
    once = serialize_compact(head, json.dumps(claims()), RSA)
    assert authorize(f"Bearer {once}").tenant == "acme"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"exp": int(NOW.timestamp()) - 31}, "token-expired"),
        ({"exp": None}, "token-invalid"),
        ({"exp": "soon"}, "token-invalid"),
        ({"exp": True}, "token-invalid"),
        ({"exp": 1e300}, "token-invalid"),
        ({"iat": None}, "token-invalid"),
        ({"iat": int(NOW.timestamp()) + 60}, "token-invalid"),
        ({"nbf": int(NOW.timestamp()) + 60}, "token-invalid"),
        ({"iss": "https://issuer.example/"}, "token-invalid"),
        ({"iss": None}, "token-invalid"),
        ({"aud": "another"}, "token-invalid"),
        ({"aud": ["another"]}, "token-invalid"),
        ({"aud": None}, "token-invalid"),
        ({"sub": None}, "token-invalid"),
        ({"sub": ""}, "token-invalid"),
        ({"sub": 7}, "token-invalid"),
        ({"scope": ["custody/read"]}, "token-invalid"),
        ({"groups": "staff"}, "token-invalid"),
        ({"groups": [1]}, "token-invalid"),
        ({"groups": [""]}, "token-invalid"),
        ({"groups": ["staff", "\ud800"]}, "token-invalid"),
        ({"sub": "ann\ud800"}, "token-invalid"),
        ({"sub": "x" * 257}, "token-invalid"),
        ({"scope": "custody/read \udfff"}, "token-invalid"),
        ({"exp": 10**18}, "token-invalid"),
        ({"exp": -(10**18)}, "token-invalid"),
        ({"tenant": None}, "tenant-missing"),
        ({"tenant": ""}, "tenant-missing"),
        ({"tenant": ["acme"]}, "tenant-missing"),
        ({"tenant": "Acme"}, "tenant-missing"),
        ({"tenant": "a"}, "tenant-missing"),
        ({"tenant": "acme\n"}, "tenant-missing"),
        ({"tenant": "../other"}, "tenant-missing"),
        ({"tenant": "x" * 41}, "tenant-missing"),
        ({"groups": None, "_claim_names": {"groups": "src1"}}, "groups-incomplete"),
        ({"groups": None, "hasgroups": True}, "groups-incomplete"),
        ({"groups": [f"g{n}" for n in range(191)]}, "groups-incomplete"),
    ],
)
def test_claims_that_do_not_hold_are_refused(
    authorize: TokenAuthorizer, token: Callable[..., str], changes: dict[str, Any], code: str
) -> None:
    assert code_of(authorize, token(**changes)) == code


def test_a_few_seconds_of_clock_difference_are_allowed(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    second = int(NOW.timestamp())
    assert authorize(token(exp=second - 20)).subject == "ann"
    assert authorize(token(iat=second + 20, nbf=second + 20)).subject == "ann"


def test_an_audience_list_that_holds_ours_is_taken(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    assert authorize(token(aud=["another", "custody"])).subject == "ann"


def test_the_tenant_claim_has_a_configured_name(
    issuer: Issuer, clock: MovingClock, token: Callable[..., str]
) -> None:
    authorize = TokenAuthorizer(
        issuer=ISSUER, audience="custody", clock=clock, jwks_url=JWKS,
        tenant_claim="custom:tenant", fetch=issuer.fetch,
    )  # fmt: skip
    assert authorize(token(**{"custom:tenant": "globex"})).tenant == "globex"
    assert code_of(authorize, token()) == "tenant-missing"


def test_keys_are_fetched_once_and_kept(
    authorize: TokenAuthorizer, issuer: Issuer, token: Callable[..., str]
) -> None:
    for _ in range(5):
        authorize(token())
    assert issuer.calls == 1


def test_an_unknown_kid_refreshes_once_within_the_pause(
    authorize: TokenAuthorizer, issuer: Issuer, clock: MovingClock, token: Callable[..., str]
) -> None:
    authorize(token())
    clock.moment += timedelta(seconds=31)
    for _ in range(5):
        assert code_of(authorize, token(OTHER, {"kid": "new"})) == "token-invalid"
    assert issuer.calls == 2


def test_a_rotated_key_is_found_after_the_pause(
    authorize: TokenAuthorizer, issuer: Issuer, clock: MovingClock, token: Callable[..., str]
) -> None:
    authorize(token())
    issuer.keys.append(OTHER.as_dict(private=False) | {"kid": "new"})
    clock.moment += timedelta(seconds=31)
    assert authorize(token(OTHER, {"kid": "new"})).subject == "ann"


def test_a_withdrawn_key_stops_counting(
    authorize: TokenAuthorizer, issuer: Issuer, clock: MovingClock, token: Callable[..., str]
) -> None:
    authorize(token())
    issuer.keys = [key for key in issuer.keys if key["kid"] != "rsa"]
    clock.moment += timedelta(minutes=5)
    assert code_of(authorize, token()) == "token-invalid"


def test_an_issuer_that_is_down_at_first_denies(
    authorize: TokenAuthorizer, issuer: Issuer, token: Callable[..., str]
) -> None:
    issuer.down = True
    with pytest.raises(Unavailable) as caught:
        authorize(token())
    assert caught.value.code == "issuer-unavailable"


def test_an_issuer_that_is_down_is_not_asked_for_each_token(
    authorize: TokenAuthorizer, issuer: Issuer, clock: MovingClock, token: Callable[..., str]
) -> None:
    issuer.down = True
    for kid in ("rsa", *(f"k{n}" for n in range(20))):
        with pytest.raises(Unavailable) as caught:
            authorize(token(header={"kid": kid}))
        assert caught.value.code == "issuer-unavailable"
    assert issuer.calls == 1
    issuer.down = False
    clock.moment += timedelta(seconds=5)
    assert authorize(token()).subject == "ann"


def test_a_token_without_an_end_that_matters_is_good(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    last = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
    assert authorize(token(exp=last)).expires_at == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_a_token_without_scope_or_groups_has_none(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    principal = authorize(token(scope=None, groups=None))
    assert principal.scopes == principal.groups == frozenset()


def test_groups_of_another_claim_are_not_taken(
    authorize: TokenAuthorizer, token: Callable[..., str]
) -> None:
    principal = authorize(token(roles=["admins"], group=["admins"], groups=["staff"]))
    assert principal.groups == {"staff"}


@pytest.mark.parametrize(
    ("bits", "more"),
    [(2048, {"use": "enc"}), (1024, {}), (2048, {"alg": "RS512"})],
    ids=["for encryption", "too short", "for another algorithm"],
)
@pytest.mark.filterwarnings("ignore:Key size should be")
def test_a_key_that_is_not_for_this_is_never_used(
    clock: MovingClock, bits: int, more: dict[str, str]
) -> None:
    key = RSAKey.generate_key(bits, {"kid": "x"}, private=True)
    issuer = Issuer(RSA, key)
    issuer.keys[1] |= more
    authorize = TokenAuthorizer(
        issuer=ISSUER, audience="custody", clock=clock, jwks_url=JWKS, fetch=issuer.fetch
    )
    signed = serialize_compact({"alg": "RS256", "kid": "x"}, json.dumps(claims()), key)
    assert code_of(authorize, f"Bearer {signed}") == "token-invalid"


def test_keys_that_discovery_offers_over_plain_http_are_not_fetched(
    clock: MovingClock, token: Callable[..., str]
) -> None:
    fetched = []

    def fetch(url: str) -> bytes:
        fetched.append(url)
        return json.dumps({"issuer": ISSUER, "jwks_uri": "http://issuer.example/keys"}).encode()

    authorize = TokenAuthorizer(issuer=ISSUER, audience="custody", clock=clock, fetch=fetch)
    with pytest.raises(Unavailable):
        authorize(token())
    assert fetched == [f"{ISSUER}/.well-known/openid-configuration"]


def test_an_issuer_that_goes_down_later_is_bridged_for_an_hour(
    authorize: TokenAuthorizer, issuer: Issuer, clock: MovingClock, token: Callable[..., str]
) -> None:
    authorize(token(exp=int(NOW.timestamp()) + 7200))
    issuer.down = True
    clock.moment += timedelta(minutes=59)
    authorize(token(exp=int(NOW.timestamp()) + 7200))
    clock.moment += timedelta(minutes=1)
    with pytest.raises(Unavailable):
        authorize(token(exp=int(NOW.timestamp()) + 7200))


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"keys": []}', b'{"keys": {}}', b"\xff",
                                  b'{"keys": [{"kty": "RSA", "kid": "rsa", "n": "AQAB"}, 5]}'])  # fmt: skip
def test_a_broken_key_set_denies(
    clock: MovingClock, token: Callable[..., str], body: bytes
) -> None:
    authorize = TokenAuthorizer(
        issuer=ISSUER, audience="custody", clock=clock, jwks_url=JWKS, fetch=lambda url: body
    )
    with pytest.raises(Unavailable):
        authorize(token())


def test_the_key_set_is_found_through_discovery(
    issuer: Issuer, clock: MovingClock, token: Callable[..., str]
) -> None:
    authorize = TokenAuthorizer(issuer=ISSUER, audience="custody", clock=clock, fetch=issuer.fetch)
    assert authorize(token()).subject == "ann"


def test_a_discovery_document_of_another_issuer_denies(
    clock: MovingClock, token: Callable[..., str]
) -> None:
    document = json.dumps({"issuer": "https://evil.example", "jwks_uri": JWKS}).encode()
    authorize = TokenAuthorizer(
        issuer=ISSUER, audience="custody", clock=clock, fetch=lambda url: document
    )
    with pytest.raises(Unavailable):
        authorize(token())


def test_keys_over_plain_http_are_refused_but_from_this_machine(clock: MovingClock) -> None:
    with pytest.raises(ConfigurationError):
        TokenAuthorizer(issuer="http://issuer.example", audience="a", clock=clock)
    TokenAuthorizer(issuer="http://127.0.0.1:9000", audience="a", clock=clock)


def test_keys_come_over_real_http(clock: MovingClock, token: Callable[..., str]) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    document = json.dumps({"keys": [RSA.as_dict(private=False)]}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/keys" else 302)
            if self.path != "/keys":
                self.send_header("location", "/keys")
            self.end_headers()
            if self.path == "/keys":
                self.wfile.write(document)

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}"
        try:
            good = TokenAuthorizer(
                issuer=base, audience="custody", clock=clock, jwks_url=f"{base}/keys"
            )
            assert good(token(iss=base)).subject == "ann"
            moved = TokenAuthorizer(
                issuer=base, audience="custody", clock=clock, jwks_url=f"{base}/moved"
            )
            with pytest.raises(Unavailable):
                moved(token(iss=base))
        finally:
            server.shutdown()
            thread.join()
    with pytest.raises(Unavailable):
        TokenAuthorizer(issuer=base, audience="custody", clock=clock, jwks_url=f"{base}/keys")(
            token(iss=base)
        )
