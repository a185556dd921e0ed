"""The only place that wires adapters to ports: ports in, use cases out.

Functions, commands, tests and benchmarks all make a ``Service`` from ``Ports`` and ``Limits``; a
Lambda container has the real ones, made from its environment when they are first needed.
"""

from __future__ import annotations

from functools import cache

from custody.bootstrap.environment import EnvironmentLimits, EnvironmentPorts
from custody.bootstrap.ports import Limits, Ports
from custody.bootstrap.service import Service
from custody.settings import Environment

__all__ = ["Limits", "Ports", "Service", "service"]


@cache
def service() -> Service:
    """This container's own, one for all its calls."""
    environment = Environment()
    return Service(EnvironmentPorts(environment), EnvironmentLimits(environment))
