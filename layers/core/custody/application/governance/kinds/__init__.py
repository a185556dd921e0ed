"""The kinds of policies by name. A new kind is one module here and one entry in ``KINDS``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from custody.application.governance.kinds.gate import GATE
from custody.application.governance.kinds.reputation import REPUTATION
from custody.application.governance.policy_kind import PolicyKind

type PolicyKinds = Mapping[str, PolicyKind[Any, Any]]

KINDS: PolicyKinds = MappingProxyType({kind.name: kind for kind in (REPUTATION, GATE)})
