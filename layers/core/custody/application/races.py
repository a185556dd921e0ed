"""Lost races: a write is refused where what it was decided on has changed since it was read."""

from __future__ import annotations

from collections.abc import Callable

from custody.errors import Conflict, Moved

ATTEMPTS = 8


def again_when_moved[T](step: Callable[[], T], *, lost: str) -> T:
    """What ``step`` returns. It reads, decides and writes, and is run from its beginning again
    after Moved, at most 8 times in all. Then Conflict(version-conflict) tells ``lost``, which is
    no Moved: a step that holds such a loop is not run again because the inner one gave up."""
    for _ in range(ATTEMPTS):
        try:
            return step()
        except Moved:
            continue
    raise Conflict(lost)
