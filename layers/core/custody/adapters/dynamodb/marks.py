"""Which layout the tables have. What finds another one than its own says so: to read past it would
be an empty answer, for what is where nobody looks."""

from __future__ import annotations

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.calls import Table
from custody.adapters.dynamodb.rows import Mark, ServiceControl
from custody.adapters.dynamodb.table import OnLedger, OnTrust, OnWork
from custody.adapters.dynamodb.writes import Row, write
from custody.errors import NoControlItem, Unavailable


def check(found: int) -> None:
    """Raises Unavailable(layout-outdated)."""
    if found != layout.LAYOUT:
        raise Unavailable(
            "The tables were laid out by another version of the service and are not migrated: "
            "deploy this version as a new stack and ingest again from incoming/.",
            code="layout-outdated",
        )


def ping(table: Table) -> None:
    """The ledger or the work table answers, and it is one of ours."""
    mark = rows.load(Mark, table.get(layout.mark()))
    if mark is None:
        raise NoControlItem("No deployment has marked the table.")
    check(mark.value.layout)


class DynamoMarks(OnTrust, OnLedger, OnWork):
    """``LayoutMarks``."""

    def mark_layout(self) -> None:
        """The two marks are one transaction, before the first control item: readers go by that
        item, so it is never there without them. A deployment that breaks off in between is
        finished by the next one.

        Where the tables are outdated and trust is new, control items that name no layout are left
        there: every reader finds them where it looks anyway."""
        for _ in self._trust.pacing.tries():
            service = rows.load(ServiceControl, self._trust.get(layout.service(0)))
            marks = {
                table: rows.load(Mark, table.get(layout.mark()))
                for table in (self._ledger, self._work)
            }
            found = {mark.value.layout for mark in marks.values() if mark is not None}
            if service is not None:
                found.add(service.value.layout)
            if self._ledger.get(layout.service(0)) is not None:
                found.add(0)  # its control items lay beside its heads
            others = found - {layout.LAYOUT}
            if others:
                if service is None:
                    self._tell_readers()
                check(min(others))
            mine = codec.dump(Mark(layout.LAYOUT))
            missing = [
                Row(table, layout.mark(), mine, 0) for table, mark in marks.items() if mark is None
            ]
            if not missing or write(*missing):
                return
        raise self._trust.unavailable("contended")

    def _tell_readers(self) -> None:
        copies = range(layout.CONTROL_COPIES)
        body = codec.dump(ServiceControl())
        write(*(Row(self._trust, layout.service(copy), body, 0) for copy in copies))
