"""The order of S3 events on one key.

A sequencer is a hexadecimal text; of two for the same key the shorter is padded with zeros on the
right, then the larger text is the later event ("Event message structure", Amazon S3 user guide).
Sequencers of different keys can't be compared.
"""

from __future__ import annotations


def compare(left: str, right: str) -> int:
    """Below zero: ``left`` is older. Zero: the same event. Above: ``left`` is newer."""
    width = max(len(left), len(right))
    first, second = left.upper().ljust(width, "0"), right.upper().ljust(width, "0")
    return (first > second) - (first < second)


def latest(left: str | None, right: str | None) -> str | None:
    if left is None or right is None:
        return right if left is None else left
    return left if compare(left, right) >= 0 else right
