"""A lost race is run again, at most eight times in all."""

from __future__ import annotations

import pytest

from custody.application.races import ATTEMPTS, again_when_moved
from custody.errors import Conflict, CustodyError, Moved, NotFound


class Step:
    """Raises its errors one after the other, then answers."""

    def __init__(self, *errors: CustodyError) -> None:
        self.errors = list(errors)
        self.tries = 0

    def __call__(self) -> str:
        self.tries += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_it_is_run_again_until_nothing_moved() -> None:
    step = Step(*(Moved("moved") for _ in range(ATTEMPTS - 1)))
    assert again_when_moved(step, lost="Lost.") == "done"
    assert step.tries == ATTEMPTS == 8


def test_after_eight_tries_the_callers_sentence_is_told() -> None:
    step = Step(*(Moved("moved") for _ in range(ATTEMPTS)))
    with pytest.raises(Conflict) as lost:
        again_when_moved(step, lost="Lost.")
    assert step.tries == ATTEMPTS
    assert (lost.value.code, lost.value.detail) == ("version-conflict", "Lost.")
    assert not isinstance(lost.value, Moved)


def test_one_inside_another_is_tried_eight_times_and_not_sixty_four() -> None:
    step = Step(*(Moved("moved") for _ in range(100)))
    with pytest.raises(Conflict) as lost:
        again_when_moved(lambda: again_when_moved(step, lost="Inner."), lost="Outer.")
    assert step.tries == ATTEMPTS
    assert lost.value.detail == "Inner."


@pytest.mark.parametrize(
    "error", [Conflict("Another source's.", code="document-owned-elsewhere"), NotFound("Gone.")]
)
def test_what_no_second_look_changes_is_raised_at_once(error: CustodyError) -> None:
    step = Step(error)
    with pytest.raises(type(error)) as raised:
        again_when_moved(step, lost="Lost.")
    assert raised.value is error
    assert step.tries == 1
