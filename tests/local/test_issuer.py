from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from joserfc import jwt
from joserfc.errors import BadSignatureError, ExpiredTokenError
from joserfc.jwk import KeySet

from custody_local import issuer, net, processes
from custody_local.issuer import Algorithm, Issuer


@pytest.fixture
def here(tmp_path: Path) -> Issuer:
    file = tmp_path / "keys.json"
    issuer.create_keys(file)
    return Issuer("http://127.0.0.1:9", "custody", file)


def published(given: Issuer) -> KeySet:
    served = issuer.documents(given.url, issuer.load_keys(given.keys_file))
    return KeySet.import_key_set(json.loads(served[issuer.KEYS_PATH]))


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
def test_a_token_verifies_under_the_published_keys(here: Issuer, algorithm: Algorithm) -> None:
    token = here.mint(
        tenant="acme", subject="ana", groups=["eng"], scopes=["a", "b"], algorithm=algorithm
    )
    decoded = jwt.decode(token, published(here), algorithms=[algorithm])
    told = {k: decoded.claims[k] for k in ("iss", "aud", "sub", "tenant", "groups", "scope")}
    assert told == {
        "iss": here.url,
        "aud": "custody",
        "sub": "ana",
        "tenant": "acme",
        "groups": ["eng"],
        "scope": "a b",
    }
    jwt.JWTClaimsRegistry(leeway=0).validate(decoded.claims)


def test_a_token_with_a_past_lifetime_is_expired(here: Issuer) -> None:
    token = here.mint(tenant="acme", subject="ana", ttl=-5)
    decoded = jwt.decode(token, published(here), algorithms=["ES256"])
    with pytest.raises(ExpiredTokenError):
        jwt.JWTClaimsRegistry(leeway=0).validate(decoded.claims)


def test_another_stacks_token_does_not_verify(here: Issuer, tmp_path: Path) -> None:
    other = Issuer(here.url, "custody", tmp_path / "other.json")
    issuer.create_keys(other.keys_file)
    forged = other.mint(tenant="acme", subject="ana")
    header, _, _ = forged.partition(".")
    _, _, rest = here.mint(tenant="acme", subject="ana").partition(".")
    with pytest.raises((BadSignatureError, ValueError)):
        jwt.decode(f"{header}.{rest}", published(other), algorithms=["ES256"])


def test_private_keys_stay_private(here: Issuer) -> None:
    assert stat.S_IMODE(here.keys_file.stat().st_mode) == 0o600
    served = issuer.documents(here.url, issuer.load_keys(here.keys_file))[issuer.KEYS_PATH]
    for key in json.loads(served)["keys"]:
        assert not {"d", "p", "q", "dp", "dq", "qi"} & key.keys()


def test_the_server_serves_discovery_and_keys(here: Issuer, tmp_path: Path) -> None:
    port = net.choose(0, what="the issuer", option="")
    url = f"http://{net.HOST}:{port}"
    command = [sys.executable, "-m", "custody_local.issuer", str(here.keys_file), str(port)]
    log = tmp_path / "log"
    process = processes.start(command, log=log, env=os.environ)
    try:
        processes.wait_until(
            lambda: net.get_json(url + issuer.CONFIGURATION_PATH) is not None,
            process,
            what="The issuer",
            log=log,
            seconds=20,
        )
        found = net.get_json(url + issuer.CONFIGURATION_PATH)
        assert found is not None
        assert found["issuer"] == url
        keys = net.get_json(found["jwks_uri"])
        assert keys is not None
        assert {key["kid"] for key in keys["keys"]} == {
            key.kid for key in issuer.load_keys(here.keys_file).keys
        }
        assert net.get_json(f"{url}/elsewhere") is None
    finally:
        processes.stop(process)
