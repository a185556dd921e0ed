"""GET /health: no token needed, nothing secret told."""

from __future__ import annotations

from custody import bootstrap
from custody.application.health import State
from custody.bootstrap import Service
from custody.http import Api, Reply, Request
from custody.http.schemas.health import HealthReply, health_reply

api = Api[Service]("health")


@api.endpoint(
    "GET",
    "/health",
    anonymous=True,
    summary="The state of each dependency.",
    replies={200: HealthReply, 503: HealthReply},
)
def health(service: Service, _request: Request[None, None]) -> Reply:
    report = service.health()
    return Reply(health_reply(report), 200 if report.state is State.OK else 503)


handler = api.handler(bootstrap.service)
