"""Bearer tokens of one OIDC issuer, checked against its published keys.

Only the algorithm allow-list counts, never what a token says of itself: keys named in a token's
header (``jwk``, ``jku``, ``x5u``) are not looked at, symmetric keys in the issuer's set are left
out, and a key serves only the algorithm of its own type.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from threading import Lock

import urllib3
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, JWKRegistry, Key, OKPKey, RSAKey
from joserfc.jws import JWSRegistry, deserialize_compact, extract_compact

from custody.addresses import is_safe
from custody.application.ports import Clock
from custody.domain import strict_json
from custody.domain.model import Principal
from custody.errors import ConfigurationError, Unauthenticated, Unavailable

ALGORITHMS = ("RS256", "ES256", "EdDSA")
LEEWAY = timedelta(seconds=30)
MAX_TOKEN_BYTES = 8192
MAX_GROUPS = 190  # with user, tenant and everyone a principal stays under 200 ACL terms
_TENANT = re.compile(r"[a-z0-9][a-z0-9-]{1,39}")
_MAX_JWKS_BYTES = 262_144

type Fetch = Callable[[str], bytes]


def http_fetch(url: str) -> bytes:
    """GET one small document; no redirects. Raises Unavailable(issuer-unavailable)."""
    try:
        with urllib3.PoolManager(num_pools=1) as pool:
            reply = pool.request(
                "GET",
                url,
                headers={"accept": "application/json"},
                timeout=urllib3.Timeout(connect=2.0, read=3.0),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            body: bytes = reply.read(_MAX_JWKS_BYTES + 1)
            reply.close()
    except urllib3.exceptions.HTTPError:
        raise _unavailable("The token issuer can't be reached.") from None
    if reply.status != 200 or len(body) > _MAX_JWKS_BYTES:
        raise _unavailable("The token issuer did not give its keys.")
    return body


def _unavailable(detail: str) -> Unavailable:
    return Unavailable(detail, code="issuer-unavailable")


def _invalid(detail: str = "The token is not valid.") -> Unauthenticated:
    return Unauthenticated(detail, code="token-invalid")


def _json_object(body: bytes) -> Mapping[str, object]:
    try:
        value = strict_json.read(body)
    except strict_json.NotStrict:
        raise _unavailable("The token issuer gave something that is not JSON.") from None
    if not isinstance(value, dict):
        raise _unavailable("The token issuer gave something that is not a JSON object.")
    return value


def _algorithm_of(key: Key) -> str | None:
    """The one algorithm that this key may verify."""
    if isinstance(key, RSAKey):
        return "RS256" if key.raw_value.key_size >= 2048 else None
    if isinstance(key, ECKey):
        return "ES256" if key.curve_name == "P-256" else None
    if isinstance(key, OKPKey):
        return "EdDSA" if key.curve_name == "Ed25519" else None
    return None


class Jwks:
    """The issuer's keys by ``kid``: kept for ``fresh``, fetched again once for an unknown ``kid``
    (at most each ``pause``), and served up to ``stale`` while the issuer can't be reached. One that
    gave no keys at all is left alone for ``rest``: whatever is sent here meanwhile asks it nothing."""

    def __init__(
        self,
        *,
        issuer: str,
        url: str,
        clock: Clock,
        fetch: Fetch,
        fresh: timedelta = timedelta(minutes=5),
        stale: timedelta = timedelta(hours=1),
        pause: timedelta = timedelta(seconds=30),
        rest: timedelta = timedelta(seconds=5),
    ) -> None:
        for address in filter(None, (issuer, url)):
            if not is_safe(address):
                raise ConfigurationError(f"Token keys must come over https, not from {address}.")
        self._issuer, self._url = issuer, url
        self._clock, self._fetch = clock, fetch
        self._fresh, self._stale, self._pause, self._rest = fresh, stale, pause, rest
        self._keys: dict[str, tuple[Key, str]] = {}
        self._fetched: datetime | None = None
        self._tried: datetime | None = None
        self._lock = Lock()

    def find(self, kid: str) -> tuple[Key, str] | None:
        """The key and its algorithm. Raises Unavailable(issuer-unavailable)."""
        with self._lock:
            now = self._clock.now()
            if self._fetched is None or now - self._fetched >= self._fresh:
                self._refresh(now)
            if kid not in self._keys:
                self._refresh(now)
            return self._keys.get(kid)

    def _refresh(self, now: datetime) -> None:
        usable = self._fetched is not None and now - self._fetched < self._stale
        pause = self._pause if usable else self._rest
        if self._tried is not None and now - self._tried < pause:
            if usable:
                return
            raise _unavailable("The token issuer did not give its keys a moment ago.")
        self._tried = now
        try:
            self._keys = self._load()
            self._fetched = now
        except Unavailable:
            if not usable:
                raise

    def _address(self) -> str:
        if self._url:
            return self._url
        place = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
        document = _json_object(self._fetch(place))
        address = document.get("jwks_uri")
        if document.get("issuer") != self._issuer or not isinstance(address, str):
            raise _unavailable("The token issuer's discovery document is not its own.")
        if not is_safe(address):
            raise _unavailable("The token issuer's keys are not offered over https.")
        return address

    def _load(self) -> dict[str, tuple[Key, str]]:
        listed = _json_object(self._fetch(self._address())).get("keys")
        if not isinstance(listed, list):
            raise _unavailable("The token issuer's key set holds no keys.")
        found: dict[str, tuple[Key, str]] = {}
        for data in listed:
            if not isinstance(data, dict) or data.get("kty") not in {"RSA", "EC", "OKP"}:
                continue
            kid = data.get("kid")
            if not isinstance(kid, str) or data.get("use", "sig") != "sig":
                continue
            try:
                key = JWKRegistry.import_key(data)
                algorithm = _algorithm_of(key)
            except (JoseError, ValueError, TypeError, KeyError):
                continue  # one key that we can't read must not void the others
            if algorithm is not None and data.get("alg", algorithm) == algorithm:
                found[kid] = (key, algorithm)
        if not found:
            raise _unavailable("The token issuer's key set holds no key that can be used.")
        return found


class TokenAuthorizer:
    """A verified principal from an ``Authorization`` header.

    ``jwks_url`` empty: taken from the issuer's discovery document.
    """

    def __init__(
        self,
        *,
        issuer: str,
        audience: str,
        clock: Clock,
        tenant_claim: str = "tenant",
        jwks_url: str = "",
        fetch: Fetch = http_fetch,
    ) -> None:
        self._issuer, self._audience = issuer, audience
        self._tenant_claim = tenant_claim
        self._clock = clock
        self._jwks = Jwks(issuer=issuer, url=jwks_url, clock=clock, fetch=fetch)
        self._registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)

    def __call__(self, authorization: str) -> Principal:
        """Raises Unauthenticated(token-missing | token-invalid | token-expired | tenant-missing |
        groups-incomplete), Unavailable(issuer-unavailable)."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthenticated("A bearer token is needed.", code="token-missing")
        claims = self._verified(token.strip())
        self._check(claims)
        return self._principal(claims)

    def _verified(self, token: str) -> Mapping[str, object]:
        if len(token) > MAX_TOKEN_BYTES or not token.isascii():
            raise _invalid()
        try:
            header = extract_compact(token.encode("ascii"), registry=self._registry).headers()
            kid, algorithm = header.get("kid"), header.get("alg")
            if not isinstance(kid, str) or algorithm not in ALGORITHMS:
                raise _invalid()
            found = self._jwks.find(kid)
            if found is None or found[1] != algorithm:
                raise _invalid()
            with warnings.catch_warnings():
                # "EdDSA" is the name that issuers use; RFC 9864 only prefers "Ed25519" to it.
                warnings.simplefilter("ignore", SecurityWarning)
                payload = deserialize_compact(token, found[0], registry=self._registry).payload
            claims = strict_json.read(payload or b"")
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):
            raise _invalid() from None
        if not isinstance(claims, dict):
            raise _invalid()
        return claims

    def _check(self, claims: Mapping[str, object]) -> None:
        now = self._clock.now()
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        if claims.get("iss") != self._issuer or self._audience not in audiences:
            raise _invalid("The token is for another issuer or audience.")
        if _moment(claims, "exp") <= now - LEEWAY:
            raise Unauthenticated("The token has expired.", code="token-expired")
        if _moment(claims, "iat") > now + LEEWAY:
            raise _invalid("The token was issued in the future.")
        if "nbf" in claims and _moment(claims, "nbf") > now + LEEWAY:
            raise _invalid("The token is not valid yet.")

    def _principal(self, claims: Mapping[str, object]) -> Principal:
        subject, scope = claims.get("sub"), claims.get("scope", "")
        if not isinstance(subject, str) or not 0 < len(subject) <= 256:
            raise _invalid("The token names no subject.")
        if not isinstance(scope, str):
            raise _invalid("The token's scope is not a string.")
        tenant = claims.get(self._tenant_claim)
        if not isinstance(tenant, str) or not _TENANT.fullmatch(tenant):
            raise Unauthenticated("The token names no tenant.", code="tenant-missing")
        return Principal(
            subject=subject,
            tenant=tenant,
            groups=_groups(claims),
            scopes=frozenset(scope.split()),
            issued_at=_moment(claims, "iat"),
            expires_at=_moment(claims, "exp"),
        )


def _moment(claims: Mapping[str, object], name: str) -> datetime:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _invalid(f"The token has no {name}.")
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        raise _invalid(f"The token's {name} is no time.") from None


def _groups(claims: Mapping[str, object]) -> frozenset[str]:
    """Issuers leave groups out when there are many and say so; rights can't be judged then."""
    elsewhere = claims.get("_claim_names")
    overflow = bool(claims.get("hasgroups")) or (
        isinstance(elsewhere, dict) and "groups" in elsewhere
    )
    groups = claims.get("groups", [])
    if not isinstance(groups, list) or not all(isinstance(g, str) and g for g in groups):
        raise _invalid("The token's groups are not a list of names.")
    if overflow or len(groups) > MAX_GROUPS:
        raise Unauthenticated(
            "The token does not list all of its groups.", code="groups-incomplete"
        )
    return frozenset(groups)
