"""Connects the command to the stack that runs on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from typing import Literal, cast

from custody_cli.errors import usage
from custody_cli.local import LocalExpiry, LocalStatus
from custody_local import endpoints
from custody_local.planning import EMULATOR_PORT
from custody_local.progress import Progress
from custody_local.stack import Stack


class StackOnThisMachine:
    """Says its steps on stderr where a person looks at it."""

    def __init__(self) -> None:
        self._stack = Stack(progress=Progress(quiet=not sys.stderr.isatty()))

    def up(
        self,
        *,
        index: str,
        model: str,
        endpoint: str | None,
        port: int | None,
        opensearch_port: int | None,
        superseded_retention_days: int,
    ) -> LocalStatus:
        where = endpoints.named(endpoint, os.environ)
        if where is not None and port:
            raise usage(
                f"{where} runs already, and --port is for an AWS that is started here.",
                "Leave one out; --port 0 only takes free ports for what is started beside it.",
            )
        before = self._stack.status()
        try:
            self._stack.up(
                index=cast("Literal['embedded', 'opensearch']", index),
                model=model,
                endpoint=where,
                port=EMULATOR_PORT if port is None else port,
                opensearch_port=opensearch_port,
                superseded_retention_days=superseded_retention_days,
            )
        except BaseException:
            # Nothing half-started stays behind. What ran before keeps running.
            if not before.running and self._stack.status().state is not None:
                self._stack.down()
            raise
        return self.status()

    def down(self) -> bool:
        return self._stack.down()

    def status(self) -> LocalStatus:
        found = self._stack.status()
        if found.state is None:
            return LocalStatus(running=False)
        if not found.running:
            return LocalStatus(running=False, problems=found.problems)
        state = found.state
        return LocalStatus(
            running=True,
            api_url=state.api_url,
            index=state.index,
            opensearch_url=state.opensearch_url or None,
            bucket=state.bucket,
            endpoint_url=state.endpoint_url,
            region=state.region,
            model=state.model,
            issuer=state.issuer,
        )

    def expire(self) -> LocalExpiry:
        told = self._stack.call("expire", {})
        return LocalExpiry(expired=told["expired"], unfinished=told["unfinished"])

    def token(
        self, *, tenant: str, subject: str, groups: Collection[str], scopes: Collection[str]
    ) -> str:
        return self._stack.mint_token(tenant=tenant, subject=subject, groups=groups, scopes=scopes)
