import re
from datetime import UTC, datetime, timedelta

from custody.adapters.system_clock import RandomIdentifiers, SystemClock


def test_the_clock_tells_aware_utc_time() -> None:
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - now) < timedelta(minutes=1)


def test_identifiers_have_one_form_and_do_not_repeat() -> None:
    made = [RandomIdentifiers().new("erasure") for _ in range(1000)]
    assert all(re.fullmatch(r"erasure-[a-z2-7]{26}", one) for one in made)
    assert len(set(made)) == 1000
    last = {one[-1] for one in made}
    assert len(last) > 8  # every character is random
