"""A repeated state-changing request gives the first answer again, for 24 hours.

Searches and answers never pass here: they would replay what was erased meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from custody.domain.model import Principal
from custody.errors import Unprocessable

MAX_KEY_CHARACTERS = 255
KEPT_SECONDS = 24 * 60 * 60

type StoredReply = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Call:
    """``target``: method and path with its parameters filled in. ``body_sha256``: of the exact
    bytes. Two requests are the same call when all but the digest are equal."""

    tenant: str
    subject: str
    target: str
    key: str
    body_sha256: str


class Idempotency(Protocol):
    def once(self, call: Call, action: Callable[[], StoredReply]) -> StoredReply:
        """Runs ``action`` unless this call was answered before. An action that raises is
        forgotten, so that it can be tried again; one that never came back is forgotten when its
        lease is over. ``action`` returns a JSON-compatible mapping.

        Raises Conflict(idempotency-in-progress), Unprocessable(idempotency-key-reused),
        Unavailable(idempotency-unavailable).
        """
        ...


def call_of(principal: Principal, target: str, key: str, body_sha256: str) -> Call:
    """Raises Unprocessable unless the key is 1 to 255 visible ASCII characters."""
    if not 0 < len(key) <= MAX_KEY_CHARACTERS or not all("!" <= char <= "~" for char in key):
        raise Unprocessable(
            f"An Idempotency-Key is 1 to {MAX_KEY_CHARACTERS} visible ASCII characters.",
            field="Idempotency-Key",
        )
    return Call(principal.tenant, principal.subject, target, key, body_sha256)
