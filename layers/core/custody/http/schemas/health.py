"""The state of the service."""

from __future__ import annotations

from typing import Literal

from custody.application.health import HealthReport
from custody.http.schemas.common import Schema, Timestamp

type HealthState = Literal["ok", "unavailable"]


class HealthReply(Schema):
    status: HealthState
    dependencies: dict[str, HealthState]
    checked_at: Timestamp


def health_reply(report: HealthReport) -> HealthReply:
    return HealthReply(
        status=report.state.value,
        dependencies={name: state.value for name, state in report.dependencies.items()},
        checked_at=report.checked_at,
    )
