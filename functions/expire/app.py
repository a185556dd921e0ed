"""Lets go of what was superseded longer ago than it is to be kept. Called by a schedule, and by
whoever does not want to wait for it; the event is not looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger

from custody import bootstrap
from custody.bootstrap import Service
from custody.counts import emit
from custody.errors import Unavailable

logger = Logger(service="expire", level="INFO")


def expire(service: Service) -> dict[str, object]:
    """Raises Unavailable(expiry-partial) when a version's turn failed: it comes again with the
    next run, and the function's errors are counted."""
    done = service.expire_superseded()
    for failure in done.failures:
        record = failure.job
        logger.error(
            "version not expired",
            extra={
                "tenant": record.key.tenant,
                "document_id": record.key.document_id,
                "version": record.version,
                "code": failure.error.code,
                "detail": failure.error.detail,
            },
        )
    emit("expire", counts={"VersionExpired": done.versions, "ExpiryFailed": len(done.failures)})
    if done.failures:
        raise Unavailable(f"{len(done.failures)} versions are left.", code="expiry-partial")
    return {"expired": done.versions, "unfinished": done.unfinished}


def answering(
    service: Callable[[], Service],
) -> Callable[[Mapping[str, Any], Any], dict[str, object]]:
    return lambda _event, _context: expire(service())


handler = answering(bootstrap.service)
