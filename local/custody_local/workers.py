"""Fewer workers on this machine: the template's MaximumConcurrency is meant for a cloud.

The emulator unpacks all layers for each new worker and imports them anew, so ten workers on two
cores make the first documents wait for ten starts. A parameter of the template can't say it: the
emulator wants a number there and gets a parameter's value as text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import yaml

FEWEST = 2  # AWS, and the emulator with it, refuses less
DEPLOYED = "deployed.yaml"


def on(cores: int | None) -> int:
    """How many workers a queue's function gets on a machine with this many cores (None: it does
    not tell): one a core, two at least."""
    return max(FEWEST, cores or FEWEST)


def here() -> int:
    """``on`` this machine."""
    return on(os.cpu_count())


def deployable(built: Path, most: int) -> Path:
    """A copy of the built template beside it, so that its relative paths hold; only its worker
    counts differ."""
    copy = built.with_name(DEPLOYED)
    copy.write_text(at_most(built.read_text(), most))
    return copy


def at_most(template: str, most: int) -> str:
    """The template with each MaximumConcurrency above ``most`` lowered to it, and every other
    character as it was."""
    found = [
        node for node in _counts(yaml.compose(template, yaml.SafeLoader)) if int(node.value) > most
    ]
    for node in sorted(found, key=lambda node: node.start_mark.index, reverse=True):
        start, end = node.start_mark.index, node.end_mark.index
        template = template[:start] + str(most) + template[end:]
    return template


def _counts(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """The value of each ``ScalingConfig: {MaximumConcurrency: N}``, wherever it stands."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _counts(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "ScalingConfig":
                yield from (
                    count for name, count in value.value if name.value == "MaximumConcurrency"
                )
            else:
                yield from _counts(value)
