"""What a step tells of a job that must be delivered again."""

from __future__ import annotations

from dataclasses import dataclass

from custody.errors import CustodyError


@dataclass(frozen=True, slots=True)
class Failure[J]:
    job: J
    error: CustodyError
