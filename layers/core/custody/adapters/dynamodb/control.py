"""Reading control items: the service's, in equal copies, and a tenant's own."""

from __future__ import annotations

import itertools
from collections import defaultdict

from custody.adapters.dynamodb import codec, layout
from custody.adapters.dynamodb.calls import Table
from custody.adapters.dynamodb.rows import ServiceControl, TenantControl
from custody.adapters.dynamodb.table import OnTable
from custody.domain.model import Control
from custody.errors import NoControlItem

_BODIES = ("sk", "body")


class ControlReads(OnTable):
    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._turn = itertools.count(int(table.new_token()[:8], 16))

    def ping(self) -> None:
        self._table.get(self._service_copy())

    def _service_copy(self) -> layout.Key:
        return layout.service(next(self._turn) % layout.CONTROL_COPIES)

    def _bodies(self, keys: list[layout.Key]) -> dict[str, list[str]]:
        bodies: dict[str, list[str]] = defaultdict(list)
        for item in self._table.batch(keys, attributes=_BODIES):
            bodies[item["sk"]["S"]].append(item["body"]["S"])
        return bodies


def control_of(tenant: str, bodies: dict[str, list[str]]) -> Control:
    if not bodies["CONTROL"]:
        raise NoControlItem("The service has no control item.")
    service = codec.load(ServiceControl, bodies["CONTROL"][0])
    tenants = codec.load_many(TenantControl, bodies["TENANT"])
    own = tenants[0] if tenants else TenantControl()
    return Control(
        tenant=tenant,
        keys=service.keys,
        policies={**service.policies, **own.policies},
        trust_domains=own.trust_domains,
        epoch=service.epoch + own.epoch,
    )
