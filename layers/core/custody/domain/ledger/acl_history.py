"""Who could read a document, from when to when, under which statement.

Each change of a head that changes what may be read leaves one revision, in the transaction that
changes it. A revision holds until the next one; none is ever written again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from custody.domain.model import Acl, Head


@dataclass(frozen=True, slots=True)
class AclRevision:
    """``revision``: the head's own after the change. ``version`` 0: nothing was live from then on.
    ``narrowed_to``: had to permit as well, before a statement said so. ``by``: the subject who asked
    for it, None where a version brought it or nobody told."""

    revision: int
    version: int
    acl: Acl
    since: datetime
    narrowed_to: Acl | None = None
    acl_revision: int = 0
    statement_id: str | None = None
    by: str | None = None

    def permits(self, terms: frozenset[str]) -> bool:
        return (
            self.version > 0
            and self.acl.permits(terms)
            and (self.narrowed_to is None or self.narrowed_to.permits(terms))
        )


def revision_of(head: Head, since: datetime, *, by: str | None = None) -> AclRevision:
    """``head`` as it was just changed."""
    if head.version == 0:
        return AclRevision(head.revision, 0, Acl(()), since, by=by)
    return AclRevision(
        head.revision,
        head.version,
        head.acl,
        since,
        head.narrowed_to,
        head.acl_revision,
        head.statement_id,
        by,
    )


@dataclass(frozen=True, slots=True)
class Held:
    """A revision and when the next one took its place, None where it holds still."""

    revision: AclRevision
    until: datetime | None


def held_at(revisions: Iterable[AclRevision], moment: datetime) -> Held | None:
    """What held at ``moment``; None before anything was live. Of two with one time, or where a
    clock went back, the later revision decides."""
    ordered = sorted(revisions, key=lambda each: each.revision)
    began = [each for each in ordered if each.since <= moment]
    if not began:
        return None
    held = began[-1]
    later = [each.since for each in ordered if each.revision > held.revision]
    return Held(held, min(later, default=None))
