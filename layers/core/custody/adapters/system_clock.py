"""Real time and real randomness."""

from __future__ import annotations

import base64
import secrets
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class RandomIdentifiers:
    def new(self, prefix: str) -> str:
        """130 random bits as 26 base32 characters."""
        random = base64.b32encode(secrets.token_bytes(17)).decode().lower()[:26]
        return f"{prefix}-{random}"
