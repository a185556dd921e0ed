"""What a step tells of a job that must be delivered again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from custody.errors import CustodyError


@dataclass(frozen=True, slots=True)
class Failure[J]:
    job: J
    error: CustodyError


@contextmanager
def collecting[J](failures: list[Failure[J]], job: J) -> Iterator[None]:
    """An error of the block is ``job``'s failure: the jobs beside it go on."""
    try:
        yield
    except CustodyError as error:
        failures.append(Failure(job, error))
