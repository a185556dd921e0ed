"""GET /health: no token needed, nothing secret told."""

from __future__ import annotations

from typing import Literal

from custody import bootstrap
from custody.application.health import State
from custody.bootstrap import Service
from custody.domain.timestamps import format_rfc3339
from custody.http import Api, Body, Reply, Request, Timestamp


class HealthReply(Body):
    status: Literal["ok", "unavailable"]
    dependencies: dict[str, Literal["ok", "unavailable"]]
    checked_at: Timestamp


api = Api[Service]("health")


@api.route(
    "GET",
    "/health",
    scope=None,
    anonymous=True,
    summary="The state of each dependency.",
    replies={200: HealthReply, 503: HealthReply},
)
def health(service: Service, _request: Request[None, None]) -> Reply:
    report = service.health()
    return Reply(
        {
            "status": report.state.value,
            "dependencies": {name: state.value for name, state in report.dependencies.items()},
            "checked_at": format_rfc3339(report.checked_at),
        },
        status=200 if report.state is State.OK else 503,
    )


handler = api.handler(bootstrap.service)
