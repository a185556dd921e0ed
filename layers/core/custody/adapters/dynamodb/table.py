"""The tables of the ledger, told apart so that rights can be held by table.

A part of the ledger names the tables that it stands on; whoever puts parts together gives them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from custody.adapters.dynamodb.calls import Table


class OnTrust:
    """What is trusted, and who may publish: only a deployment and governors write it. What was ever
    revoked stands in a table of its own, which is never put back with the other."""

    _trust: Table
    _open_revocations: Callable[[], Table]

    @cached_property
    def _revocations(self) -> Table:
        """Opened by whoever reads what governs: others have no right to it."""
        return self._open_revocations()


class OnLedger:
    """What is live, what is erased. No step that meets hostile bytes or vectors writes it."""

    _ledger: Table


class OnWork:
    """What is on its way or was: versions and drops."""

    _work: Table
