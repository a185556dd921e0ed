"""What every group of calls stands on."""

from __future__ import annotations

from collections.abc import Mapping

from custody_client.transport import Transport, new_idempotency_key


class Calls:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _change(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        idempotency_key: str | None,
        if_match: str | None = None,
    ) -> dict[str, object]:
        headers = {"idempotency-key": idempotency_key or new_idempotency_key()}
        if if_match is not None:
            headers["if-match"] = if_match
        return self._transport.call(method, path, body=body, headers=headers)
