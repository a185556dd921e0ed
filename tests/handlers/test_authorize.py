from __future__ import annotations

from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from custody.domain.model import Principal
from custody.errors import Unauthenticated, Unavailable
from custody.http.principal import principal_from_context
from tests.support.functions import event, load
from tests.support.ingest_world import World
from tests.support.signed_evidence import NOW

ANN = Principal(
    "ann",
    "acme",
    frozenset({"staff"}),
    frozenset({"custody/read"}),
    NOW,
    NOW + timedelta(minutes=5),
)


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return load("authorize")


def answering(module: ModuleType, result: Principal | Exception) -> Any:
    """A handler whose issuer gives ``result`` for any token."""

    def authorizer(authorization: str) -> Principal:
        if isinstance(result, Exception):
            raise result
        return result

    service = World(authorizer=authorizer).service
    return module.answering(lambda: service)


def test_a_good_token_allows_the_whole_stage_since_the_answer_is_cached(
    module: ModuleType,
) -> None:
    given = event("authorize/token")
    reply = answering(module, ANN)(given, None)
    (statement,) = reply["policyDocument"]["Statement"]
    assert statement["Effect"] == "Allow"
    assert statement["Resource"] == ("arn:aws:execute-api:us-east-1:000000000000:a1b2c3d4e5/v1/*")
    assert reply["principalId"] == "ann"
    assert all(isinstance(value, str) for value in reply["context"].values())
    assert principal_from_context(reply["context"]) == ANN


@pytest.mark.parametrize("code", ["token-missing", "token-invalid", "token-expired",
                                  "tenant-missing", "groups-incomplete"])  # fmt: skip
def test_a_refused_token_is_exactly_what_api_gateway_makes_a_401(
    module: ModuleType, code: str
) -> None:
    handler = answering(module, Unauthenticated("no", code=code))
    with pytest.raises(module.Unauthorized) as caught:
        handler(event("authorize/no-bearer"), None)
    assert str(caught.value) == "Unauthorized"


def test_an_issuer_that_is_down_never_allows(module: ModuleType) -> None:
    handler = answering(module, Unavailable("down", code="issuer-unavailable"))
    with pytest.raises(Unavailable):
        handler(event("authorize/token"), None)


def test_the_token_is_not_logged(module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    handler = answering(module, Unauthenticated("no", code="token-invalid"))
    given = event("authorize/token")
    with pytest.raises(module.Unauthorized):
        handler(given, None)
    assert given["authorizationToken"].removeprefix("Bearer ") not in capsys.readouterr().out
