"""What the story plays on: the running stack, clients of its people, and a record of it all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from custody_cli import output
from custody_cli.demo.checks import Checks
from custody_cli.s3_drop import S3Drop
from custody_client import Client

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Person:
    """A principal of the demo. Scopes beyond custody/read are given where they are used."""

    name: str
    tenant: str
    groups: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}@{self.tenant}"


class Running(Protocol):
    """The stack, as far as the demo needs it."""

    api_url: str
    bucket: str
    endpoint_url: str
    aws: Mapping[str, str]

    def token(self, person: Person, scopes: tuple[str, ...]) -> str: ...
    def public_key(self) -> bytes:
        """DER of the ingestion key, as KMS tells it."""
        ...

    def leftovers(self) -> list[str]:
        """What should have ended and has not."""
        ...


class Teller(Protocol):
    """Says on stderr what takes time."""

    def note(self, text: str) -> None: ...
    def step(self, text: str) -> AbstractContextManager[None]: ...


@dataclass(slots=True)
class Stage:
    """``record`` becomes the JSON report; ``shown`` False keeps stdout for it."""

    stack: Running
    teller: Teller
    shown: bool = True
    timeout: float = 600.0  # at most; a busy machine starts workers slowly
    checks: Checks = field(default_factory=Checks)
    record: dict[str, object] = field(default_factory=dict)
    _clients: dict[tuple[Person, tuple[str, ...]], Client] = field(default_factory=dict)
    _said: int = 0

    def client(self, person: Person, *scopes: str) -> Client:
        wanted = tuple(f"custody/{scope}" for scope in ("read", *scopes))
        known = self._clients.get((person, wanted))
        if known is None:
            token = self.stack.token(person, wanted)
            # The first call of each function loads the model and may take seconds.
            known = Client(self.stack.api_url, token, timeout=60.0)
            self._clients[person, wanted] = known
        return known

    def drop_box(self, tenant: str) -> S3Drop:
        return S3Drop(
            self.stack.bucket, tenant, endpoint_url=self.stack.endpoint_url, aws=self.stack.aws
        )

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def heading(self, words: str) -> None:
        if self.shown:
            output.show("", output.text(words, "bold underline"))

    def show(self, *parts: RenderableType) -> None:
        if self.shown:
            output.show(*parts)

    def show_checks(self) -> None:
        """The claims made since the last time."""
        new = self.checks.made[self._said :]
        self._said = len(self.checks.made)
        for check in new:
            mark = output.text("  ok  ", "green") if check.ok else output.text(" FAIL ", "bold red")
            seen = f" ({check.seen})" if check.seen and not check.ok else ""
            self.show(mark + output.text(f"{check.claim}{seen}"))
