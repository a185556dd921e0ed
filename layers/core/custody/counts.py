"""Counts and durations as CloudWatch metrics, written as log lines (EMF).

Each stands under two sets of dimensions: the stack alone, which is what alarms watch, and the stack
with the function. Several stacks may share an account, so none is without its stack's name, which
the template hands over as Powertools' service name.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_lambda_powertools.metrics import Metrics, MetricUnit

NAMESPACE = "Custody"


def emit(function: str, counts: Mapping[str, float]) -> None:
    """A name that ends in ``_ms`` is a duration in milliseconds, every other one a count."""
    if not counts:
        return
    metrics = Metrics(namespace=NAMESPACE)
    stack = metrics.service or "unnamed"
    metrics.add_dimension(name="service", value=stack)
    metrics.add_dimensions(service=stack, function=function)
    for name, value in counts.items():
        unit = MetricUnit.Milliseconds if name.endswith("_ms") else MetricUnit.Count
        metrics.add_metric(name=name, unit=unit, value=value)
    metrics.flush_metrics()
