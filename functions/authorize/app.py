"""TOKEN authorizer: a bearer token in, a policy and the principal out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger

from custody import bootstrap
from custody.bootstrap import Service
from custody.errors import CustodyError, Unauthenticated
from custody.http.principal import principal_to_context

logger = Logger(service="authorize", level="INFO")


class Unauthorized(Exception):
    """API Gateway answers 401 to exactly this message, and 500 to any other."""

    def __init__(self) -> None:
        super().__init__("Unauthorized")


def authorize(service: Service, event: Mapping[str, Any]) -> dict[str, object]:
    try:
        principal = service.authorizer(str(event.get("authorizationToken") or ""))
    except Unauthenticated as error:
        logger.info("refused", extra={"code": error.code})
        raise Unauthorized from None
    except CustodyError as error:
        logger.exception("failed", extra={"code": error.code})
        raise
    return {
        "principalId": principal.subject,
        "policyDocument": {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Action": "execute-api:Invoke",
                    "Effect": "Allow",
                    "Resource": _whole_stage(str(event["methodArn"])),
                }
            ],
        },
        "context": principal_to_context(principal),
    }


def _whole_stage(method_arn: str) -> str:
    """The answer is cached for the token, so it must hold for every endpoint; each use case checks
    its own scopes."""
    api, stage = method_arn.split("/")[:2]
    return f"{api}/{stage}/*"


def answering(service: Callable[[], Service]) -> Callable[[Mapping[str, Any], object], object]:
    return lambda event, _context: authorize(service(), event)


handler = answering(bootstrap.service)
