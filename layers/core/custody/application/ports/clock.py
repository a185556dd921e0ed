"""Time and fresh names, as they come from outside."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Aware UTC time."""
        ...


class Identifiers(Protocol):
    def new(self, prefix: str) -> str:
        """A fresh unguessable id, ``<prefix>-<26 lower-case base32 characters>``."""
        ...
