"""The local stack, as the command sees it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from custody_cli.errors import UNABLE, CommandError


@dataclass(frozen=True, slots=True)
class LocalStatus:
    """What ``custody status`` tells. Addresses are None while nothing runs; ``problems`` names
    each part that should run and doesn't."""

    running: bool
    problems: tuple[str, ...] = ()
    api_url: str | None = None
    index: str | None = None
    model: str | None = None
    opensearch_url: str | None = None
    bucket: str | None = None
    endpoint_url: str | None = None
    region: str | None = None
    issuer: str | None = None

    def as_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class LocalExpiry:
    """``expired``: superseded versions that were let go. ``unfinished``: more of them are due."""

    expired: int
    unfinished: bool


class LocalStack(Protocol):
    """Raises custody_local's LocalStackError, whose text says what to do."""

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
        """``endpoint``: an AWS that runs already; None leaves it to the environment."""
        ...

    def down(self) -> bool:
        """True when something was stopped."""
        ...

    def status(self) -> LocalStatus: ...
    def expire(self) -> LocalExpiry: ...
    def token(
        self, *, tenant: str, subject: str, groups: Collection[str], scopes: Collection[str]
    ) -> str: ...


def not_running(problems: Collection[str] = ()) -> CommandError:
    why = f" ({'; '.join(problems)})" if problems else ""
    return CommandError(
        UNABLE,
        "no-stack",
        f"No local stack is running{why}.",
        "Start one with `custody up`, or set CUSTODY_API_URL and CUSTODY_TOKEN.",
    )


def credentials(status: LocalStatus) -> dict[str, str]:
    """What boto3 is given for the local AWS, which takes any secret."""
    return {
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
        "region_name": status.region or "us-east-1",
    }
