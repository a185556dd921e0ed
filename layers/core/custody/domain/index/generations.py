"""The indices of one space. There may be several: of other models, and such as are being built.

An index is found by its space *and* its model revision, so that functions of two models run side by
side. Among those of one revision a single one is served; another is being built, or was served
until a moment ago. Whatever changes reaches all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST = "0"
"""The generation that a space's first document makes. A build's is its own id."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One index. ``name``: the index's own for it. ``served``: whether searches of its model find
    it now."""

    name: str
    model_revision: str
    dimensions: int
    mapping_version: str
    analysis_version: str
    served: bool
