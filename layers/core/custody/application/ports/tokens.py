"""Tokens, and whom they name."""

from __future__ import annotations

from typing import Protocol

from custody.domain.model import Principal


class Authorizer(Protocol):
    def __call__(self, authorization: str) -> Principal:
        """The caller whom an ``Authorization`` header names. Raises Unauthenticated, and
        Unavailable(code="issuer-unavailable")."""
        ...
