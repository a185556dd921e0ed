"""Names of indices and aliases. A tenant's id never stands in one.

====================================================  ============================================
``<prefix>-<space>-<revision>-<generation>``          an index
``<prefix>-<space>-<revision>``                       the alias of the one that searches find
``<prefix>-<space>-<revision>-<generation>-w``        an alias of the index alone: a write that
                                                      requires an alias never makes an index anew
                                                      that was dropped a moment ago
``<prefix>-<space>-*``                                every index of the space
====================================================  ============================================

``<space>`` and ``<revision>`` are the beginnings of hashes: 24 and 12 hexadecimal digits.
"""

from __future__ import annotations

import hashlib
import json
import re

from custody.domain.index.candidates import Space

_ALIAS = re.compile(r"-[0-9a-f]{12}")


def space_hash(space: Space) -> str:
    parts = [space.tenant, space.source_id, *(["history"] if space.history else [])]
    name = json.dumps(parts, separators=(",", ":"))
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def every_index(prefix: str, space: Space) -> str:
    return f"{prefix}-{space_hash(space)}-*"


def alias_of(prefix: str, space: Space, model_revision: str) -> str:
    revision = hashlib.sha256(model_revision.encode()).hexdigest()[:12]
    return f"{prefix}-{space_hash(space)}-{revision}"


def is_alias(prefix: str, space: Space, name: str) -> bool:
    """Whether searches go by this name."""
    of_space = f"{prefix}-{space_hash(space)}"
    return name.startswith(of_space) and _ALIAS.fullmatch(name[len(of_space) :]) is not None


def index_of(alias: str, generation: str) -> str:
    return f"{alias}-{generation}"


def own_alias(index: str) -> str:
    return f"{index}-w"
