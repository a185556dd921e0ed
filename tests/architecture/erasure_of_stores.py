"""Every store of the service, and what an erasure does there.

A store goes by its faces: the port that writes it, the table or queue or bucket behind the port,
the kinds of items of the ledger's table, the prefixes of the bucket. A test holds this list against
what the ports, the key modules and the template have, so that nobody adds a store and forgets what
an erasure owes it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Store:
    """``places``: those that visit it. ``exempt``: why an erasure has nothing to do there. One of
    the two is given."""

    faces: tuple[str, ...]
    places: tuple[str, ...] = ()
    exempt: str = ""


_QUEUES = tuple(
    f"queue/{kind}{end}"
    for kind in ("ingest", "parse", "embed", "publish", "erase", "rebuild")
    for end in ("", "-dlq")
)

STORES = (
    Store(("port/WritableIndex", "port/RebuildableIndex"), places=("index",)),
    Store(
        (
            "port/Admissions",
            "port/VersionSteps",
            "port/Rejections",
            "port/Publication",
            "port/Retention",
            "table/work",
            "item/version",
        ),
        places=("ledger/versions",),
    ),
    Store(("port/DropLedger", "item/drop", "prefix/incoming"), places=("objects/incoming",)),
    Store(
        ("port/ObjectStore", "bucket/evidence"),
        places=(
            "objects/raw",
            "objects/evidence",
            "objects/vectors",
            "objects/incoming",
            "objects/rejected",
        ),
    ),
    Store(("prefix/raw",), places=("objects/raw",)),
    Store(("prefix/evidence",), places=("objects/evidence",)),
    Store(("prefix/vectors",), places=("objects/vectors",)),
    Store(("prefix/rejected",), places=("objects/rejected",)),
    Store(
        ("port/Narrowing", "port/AclPublication", "table/ledger", "item/head"),
        exempt="The tombstone strips it in the transaction that hides the document.",
    ),
    Store(
        ("item/acl_revision",),
        exempt="Who could read the document when: versions, terms, times and ids of statements. The "
        "question stays open after the erasure; a term names a reader, never what was read.",
    ),
    Store(
        ("port/Tombstones", "port/ErasureLedger", "item/erasure"),
        exempt="It is the receipt: who asked and why, and what became of each copy.",
    ),
    Store(
        (
            "port/SourceLedger",
            "port/TrustLedger",
            "port/LayoutMarks",
            "table/trust",
            "item/source",
            "item/source_change",
            "item/trust_change",
            "item/revocations",
            "table/revocations",
            "item/tenant",
            "item/service",
            "item/principal",
            "item/page_secret",
            "item/mark",
        ),
        exempt="What governs the service, its tenants and callers; nothing comes of a document.",
    ),
    Store(
        ("port/PolicyStore", "item/policy"),
        exempt="Signed policies name sources and rankers, never a document.",
    ),
    Store(
        ("port/TraceStore", "table/traces"),
        exempt="It holds nothing of a document's text: ids, digests, ranks, scores, decisions and "
        "what the caller asked. Text is read again through the ledger's check. Traces expire.",
    ),
    Store(
        ("port/Idempotency", "table/idempotency"),
        exempt="The replies of writes hold ids, digests, states, signals and access terms, never a "
        "title or text. They expire after 24 hours.",
    ),
    Store(
        ("port/Builds", "item/build", "table/builds"),
        exempt="It names the documents of the batch that a builder writes at the moment, by id, and "
        "digests, counts and times of an index. An erasure reads it, and waits for the batch.",
    ),
    Store(
        ("port/Jobs", *_QUEUES),
        exempt="A message names what to do by reference: ids, versions and the keys of drops. What "
        "nobody takes expires after 14 days.",
    ),
    Store(
        ("logs",),
        exempt="Functions log ids, codes, counts and faults, not a document's text. Logs expire "
        "after the days that the operator sets.",
    ),
)
