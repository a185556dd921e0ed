"""Bring the ACLs that the index filters by to what the ledger says.

Whoever asks for another ACL writes the ledger first and the index then. So an ACL that was set here
may be older than one that was set a moment before, and the head is read again until they agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from custody.application.ports import HeadReads, WritableIndex
from custody.domain.index.candidates import Space
from custody.domain.ledger.access import wanted_acl
from custody.domain.model import Acl, DocumentKey


def follow_acl(
    ledger: HeadReads, index: WritableIndex, key: DocumentKey, spaces: Sequence[Space]
) -> None:
    """Of the live version, and of every one that is past: who may not read a document now may not
    read what it was. Nothing is set where nothing is live."""
    done: tuple[int, Acl] | None = None
    while True:
        head = ledger.head(key)
        if head is None or head.version == 0:
            return
        wanted = (head.version, wanted_acl(head))
        if wanted == done:
            return
        for space in spaces:
            index.set_acl(space, key, None if space.history else head.version, wanted[1])
        index.refresh(spaces)
        done = wanted
