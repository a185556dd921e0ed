"""Custom resource: registers keys and signs the default policies as the stack is made or updated.

Invoked without a ``ResponseURL`` it does the same and returns what it did.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger

from custody import bootstrap
from custody.bootstrap import Service
from custody.errors import BadRequest, CustodyError

logger = Logger(service="bootstrap", level="INFO")
SECONDS_TO_ANSWER = 10

type Deployed = dict[str, object]


def deploy(service: Callable[[], Service], event: Mapping[str, Any], context: Any) -> Deployed:
    url = event.get("ResponseURL")
    if url is None:
        return _run(service, event)
    # whatever goes wrong must be answered: CloudFormation would wait for an hour
    try:
        data, status, reason = _run(service, event), "SUCCESS", "Done."
    except CustodyError as error:
        logger.exception("bootstrap failed", extra={"code": error.code})
        data, status, reason = {}, "FAILED", f"{error.code}: {error.detail}"
    except Exception as error:
        logger.exception("bootstrap failed", extra={"code": "internal"})
        data, status, reason = {}, "FAILED", f"internal: {type(error).__name__}"
    _answer(str(url), event, context, status=status, reason=reason, data=data)
    return data


def _run(service: Callable[[], Service], event: Mapping[str, Any]) -> Deployed:
    kind = event.get("RequestType")
    if kind == "Delete":
        return {}  # keys and policies are the ledger's; they go with it
    if kind not in ("Create", "Update"):
        raise BadRequest("RequestType is Create, Update or Delete.", field="RequestType")
    deployed = service().deploy_policies()
    logger.info(
        "bootstrapped",
        extra={"registered": list(deployed.registered), "signed": list(deployed.signed)},
    )
    return {
        "KeyIds": ",".join(deployed.keyids),
        "Registered": ",".join(deployed.registered),
        "Signed": ",".join(deployed.signed),
        "Policies": ",".join(f"{ref.name}={ref.version}" for ref in deployed.policies),
    }


def _answer(
    url: str,
    event: Mapping[str, Any],
    context: Any,
    *,
    status: str,
    reason: str,
    data: Mapping[str, object],
) -> None:
    if not url.startswith(("https://", "http://")):
        raise BadRequest("ResponseURL must be an HTTP address.", field="ResponseURL")
    body = json.dumps(
        {
            "Status": status,
            "Reason": f"{reason} Log stream: {getattr(context, 'log_stream_name', '-')}",
            # constant, or an update would replace the resource and delete the former one
            "PhysicalResourceId": event.get("PhysicalResourceId") or "custody-bootstrap",
            "StackId": event.get("StackId", ""),
            "RequestId": event.get("RequestId", ""),
            "LogicalResourceId": event.get("LogicalResourceId", ""),
            "Data": data,
        }
    ).encode()
    # a presigned address: it was signed without a content type, so none may be sent
    request = urllib.request.Request(  # noqa: S310  checked above
        url, data=body, method="PUT", headers={"Content-Type": "", "Content-Length": str(len(body))}
    )
    with urllib.request.urlopen(request, timeout=SECONDS_TO_ANSWER):  # noqa: S310
        logger.info("answered", extra={"status": status})


def answering(service: Callable[[], Service]) -> Callable[[Mapping[str, Any], Any], Deployed]:
    return lambda event, context: deploy(service, event, context)


handler = answering(bootstrap.service)
