"""What every refusal and every failure looks like."""

from __future__ import annotations

from custody.http.schemas.common import Schema


class Problem(Schema):
    """RFC 9457. ``code`` is stable; ``field`` names what is at fault, where something is."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None
    trace_id: str
