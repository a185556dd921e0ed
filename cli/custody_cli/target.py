"""Which deployment a command talks to, and as whom.

With CUSTODY_API_URL: that one, with the token in CUSTODY_TOKEN. Else the local stack, with a token
minted for the principal that the options name.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from custody_cli.errors import UNABLE, CommandError, usage
from custody_cli.local import credentials, not_running

if TYPE_CHECKING:
    from custody_cli.wiring import Wiring
    from custody_client import Client

DEFAULT_TENANT = "local"
DEFAULT_SUBJECT = "me"

READ = "custody/read"
WRITE = "custody/write"
ERASE = "custody/erase"
GOVERN = "custody/govern"
AUDIT = "custody/audit"
OVERRIDE = "custody/override"


@dataclass(frozen=True, slots=True)
class Who:
    """The principal as given on the command line; None where nothing was given."""

    tenant: str | None = None
    subject: str | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """``tenant`` and ``subject`` are None where only the token knows them."""

    api_url: str
    token: str = field(repr=False)
    local: bool
    tenant: str | None
    subject: str | None
    bucket: str | None
    endpoint_url: str | None
    aws: Mapping[str, str] = field(default_factory=dict, repr=False)

    def client(self, *, timeout: float = 60.0) -> Client:
        from custody_client import Client

        try:
            return Client(self.api_url, self.token, timeout=timeout)
        except ValueError as error:
            raise usage(f"{error}.", "Set CUSTODY_API_URL to the API's address.") from error


def resolve(wiring: Wiring, who: Who, scopes: Collection[str]) -> Target:
    """Raises CommandError (exit code 2) with what to set or start."""
    api_url = os.environ.get("CUSTODY_API_URL", "").strip()
    if api_url:
        return _deployment(api_url, who)
    stack = wiring.local_stack()
    status = stack.status()
    if not status.running or status.api_url is None:
        raise not_running(status.problems)
    tenant = who.tenant or DEFAULT_TENANT
    subject = who.subject or DEFAULT_SUBJECT
    token = stack.token(tenant=tenant, subject=subject, groups=who.groups, scopes=scopes)
    return Target(
        api_url=status.api_url,
        token=token,
        local=True,
        tenant=tenant,
        subject=subject,
        bucket=status.bucket,
        endpoint_url=status.endpoint_url,
        aws=credentials(status),
    )


def _deployment(api_url: str, who: Who) -> Target:
    token = os.environ.get("CUSTODY_TOKEN", "").strip()
    if not token:
        raise CommandError(
            UNABLE,
            "token-missing",
            "CUSTODY_API_URL is set, but CUSTODY_TOKEN is not.",
            "Set CUSTODY_TOKEN to a token of that deployment's issuer.",
        )
    if who.subject or who.groups:
        raise usage(
            "--subject and --groups only serve the local stack: here the token says who you are.",
            "Leave them out, or unset CUSTODY_API_URL.",
        )
    return Target(
        api_url=api_url,
        token=token,
        local=False,
        tenant=who.tenant,
        subject=None,
        bucket=os.environ.get("CUSTODY_BUCKET") or None,
        endpoint_url=None,
    )
