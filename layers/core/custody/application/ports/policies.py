"""Signed policies."""

from __future__ import annotations

from typing import Protocol

from custody.domain.model import Envelope, PolicyRef


class PolicyStore(Protocol):
    """Signed policies by digest. Raises Unavailable(code="policy-unavailable")."""

    def find(self, digest: str) -> Envelope | None: ...
    def get(self, ref: PolicyRef) -> Envelope: ...
    def put(self, ref: PolicyRef, envelope: Envelope) -> None: ...
