"""A token issuer for one machine: keys, tokens, and the two documents that an OIDC issuer serves.

The service's authorizer takes it for any other issuer. Its private keys lie in the stack's state
folder, readable by their owner alone, and die with the stack.

    python -m custody_local.issuer KEYS_FILE PORT     serve until told to end
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from custody_local.net import HOST

type Algorithm = Literal["ES256", "RS256"]
CONFIGURATION_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/jwks.json"


@dataclass(frozen=True, slots=True)
class Issuer:
    """``url`` becomes ``iss``; ``audience`` becomes ``aud``."""

    url: str
    audience: str
    keys_file: Path

    def mint(
        self,
        *,
        tenant: str | None,
        subject: str,
        groups: Collection[str] = (),
        scopes: Collection[str] = (),
        ttl: int = 3600,
        algorithm: Algorithm = "ES256",
        **claims: Any,
    ) -> str:
        """A signed token that lives ``ttl`` seconds from now (negative: already expired).
        ``claims`` are added, and replace those of the same name."""
        now = int(time.time())
        told: dict[str, Any] = {
            "iss": self.url,
            "aud": self.audience,
            "sub": subject,
            "iat": now if ttl > 0 else now + ttl - 60,
            "nbf": now if ttl > 0 else now + ttl - 60,
            "exp": now + ttl,
            "jti": secrets.token_urlsafe(12),
            "groups": list(groups),
            "scope": " ".join(scopes),
        }
        if tenant is not None:
            told["tenant"] = tenant
        key = next(key for key in load_keys(self.keys_file).keys if key.alg == algorithm)
        header = {"alg": algorithm, "kid": key.kid, "typ": "JWT"}
        return jwt.encode(header, told | claims, key, algorithms=[algorithm])


def create_keys(file: Path) -> None:
    """One elliptic-curve and one RSA key, named by their thumbprints."""
    keys: list[RSAKey | ECKey] = [
        ECKey.generate_key("P-256", {"use": "sig", "alg": "ES256"}),
        RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}),
    ]
    private = [key.as_dict(private=True) | {"kid": key.thumbprint()} for key in keys]
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as output:
        json.dump({"keys": private}, output)


def load_keys(file: Path) -> KeySet:
    return KeySet.import_key_set(json.loads(file.read_text()))


def documents(url: str, keys: KeySet) -> dict[str, bytes]:
    """What is served, by path."""
    configuration = {
        "issuer": url,
        "jwks_uri": url + KEYS_PATH,
        "id_token_signing_alg_values_supported": ["ES256", "RS256"],
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
    }
    public = keys.as_dict(private=False)
    return {
        CONFIGURATION_PATH: json.dumps(configuration).encode(),
        KEYS_PATH: json.dumps(public).encode(),
    }


def serve(keys_file: Path, port: int) -> None:
    served = documents(f"http://{HOST}:{port}", load_keys(keys_file))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = served.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            if body:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            print(f"{self.address_string()} {format % args}", flush=True)

    with ThreadingHTTPServer((HOST, port), Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
