"""Equal vectors: the ones that are kept out of the graph, whose links they would use up.

A node of the graph is linked to the nearest others. Where more vectors are equal than a node has
links, these have none to anything else: whoever enters their island finds no way out, and what lies
behind it is not found. So of each likeness only some are in the graph. The rest is compared one by
one, which is exact, whatever the filter leaves of it.

How many are in the graph is what a search of the index says: entries that were put and not yet
refreshed are not counted, so a likeness may get some more in. That costs nothing but links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from custody.domain.index.candidates import Vector

IN_GRAPH = 8  # half of the links that a node has
_CELLS = 256


def likeness(vector: Vector) -> str:
    """One for equal vectors, also where sums in another order left their last bits different:
    components are counted in steps of 1/256. Vectors that differ may share one; it only says
    where a vector is kept, never what it is."""
    return blake2b(np.rint(vector * _CELLS).astype(np.int16).tobytes(), digest_size=12).hexdigest()


class Crowds:
    """Of each likeness, how many are in the graph of one index, while entries are put into it."""

    def __init__(self) -> None:
        self._in_graph: Counter[str] = Counter()

    def unknown(self, likenesses: Sequence[str]) -> list[str]:
        return sorted({one for one in likenesses if one not in self._in_graph})

    def learn(self, unknown: Sequence[str], counted: Mapping[str, int]) -> None:
        self._in_graph.update({one: counted.get(one, 0) for one in unknown})

    def admits(self, one: str) -> bool:
        """Whether another of the likeness goes into the graph. It counts as put there then."""
        if self._in_graph[one] >= IN_GRAPH:
            return False
        self._in_graph[one] += 1
        return True
