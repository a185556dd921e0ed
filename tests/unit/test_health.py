from __future__ import annotations

from datetime import UTC, datetime, timedelta

from custody.application.health import Health, State
from custody.errors import Unavailable


class MovingClock:
    moment = datetime(2026, 5, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


class Dependency:
    def __init__(self) -> None:
        self.asked = 0
        self.down = False

    def ping(self) -> None:
        self.asked += 1
        if self.down:
            raise Unavailable("password=hunter2 at 10.0.0.1", code="index-unavailable")


def test_each_dependency_is_told_and_one_that_is_down_makes_the_whole_unavailable() -> None:
    ledger, index = Dependency(), Dependency()
    index.down = True
    report = Health({"ledger": ledger, "index": index}, MovingClock())()
    assert report.state is State.UNAVAILABLE
    assert report.dependencies == {"ledger": State.OK, "index": State.UNAVAILABLE}
    assert "hunter2" not in repr(report)


def test_the_answer_is_kept_for_seconds() -> None:
    clock, index = MovingClock(), Dependency()
    health = Health({"index": index}, clock)
    for _ in range(10):
        assert health().state is State.OK
    assert index.asked == 1
    index.down = True
    clock.moment += timedelta(seconds=5)
    assert health().state is State.UNAVAILABLE
    assert index.asked == 2
