"""Keys of the tables that are the ledger.

The partition key ``pk`` is a hash of what an item belongs to, so that neither a tenant nor a day
makes a hot partition. Rights are held by table: an item lies with those that the same functions
may write.

======  =============  ==================================  ======================
table   item           pk                                  sk
======  =============  ==================================  ======================
trust   service        ``C#`` copy number                  ``CONTROL``
trust   tenant         ``T#`` hash(tenant)                 ``TENANT``
trust   principal      ``U#`` hash(tenant, subject)        ``PRINCIPAL``
trust   source         ``S#`` hash(tenant, source)         ``SOURCE``
trust   source_change  ``S#`` hash(tenant, source)         ``CHANGE#`` 12 digits
trust   policy         ``POLICY#`` digest                  ``POLICY``
trust   trust_change   ``G#`` hash(whose, what)            ``CHANGE#`` time, token
trust   page_secret    ``PAGES``                           ``SECRET``
ledger  head           ``D#`` hash(tenant, document)       ``HEAD``
ledger  acl_revision   ``D#`` hash(tenant, document)       ``ACL#`` 12 digits
ledger  erasure        ``E#`` hash(tenant, erasure)        ``ERASURE``
work    version        ``D#`` hash(tenant, document)       ``V#`` 12 digits
work    drop           ``P#`` hash(tenant, path)           ``DROP#`` source
builds  build          ``B#`` hash(tenant)                 ``BUILD#`` build id
revoked revocations    ``R#`` copy number                  ``REVOKED``
both    mark           ``LAYOUT``                          ``LAYOUT``
======  =============  ==================================  ======================

Heads and sources are listed through the index ``gsi1`` of their table: ``gsi1pk`` names tenant and
shard, ``gsi1sk`` orders by source and document; it needs ``st`` (state) and, for heads, ``nm``
(name) projected, and nothing else. Versions that were superseded are listed as long as something
of them may be kept: ``gsi1pk`` names the shard, ``gsi1sk`` orders by when they were superseded.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from custody.domain.model import BuildKey, DocumentKey, SourceKey

LISTING = "gsi1"
LISTING_SHARDS = 8
"""Heads of one tenant are written over so many partitions of the index. Raising it later hides
older heads from listings until they are written again; lowering it hides those beyond."""

SOURCE_CHANGE = "CHANGE#"
ACL_REVISION = "ACL#"
TRUST_CHANGE = "CHANGE#"

CONTROL_COPIES = 8
"""Every search reads the service's control item; one item serves at most 3,000 strongly
consistent reads a second, so equal copies are written in one transaction and read in turn."""


@dataclass(frozen=True, slots=True)
class Key:
    """``sk`` empty: the table has no sort key."""

    pk: str
    sk: str = ""


LAYOUT = 1
"""Raised with every change of what lies where that this code can't read past. Nothing is migrated:
tables of another layout are told of, never read. Before there were marks it was 0, and one table
held everything."""


def digest(*parts: str) -> str:
    """128 bits of SHA-256 over the parts, each after its length so that no two lists run
    together."""
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _document(key: DocumentKey) -> str:
    return "D#" + digest(key.tenant, key.document_id)


def head(key: DocumentKey) -> Key:
    return Key(_document(key), "HEAD")


def acl_revision(key: DocumentKey, revision: int) -> Key:
    return Key(_document(key), f"{ACL_REVISION}{revision:012d}")


def version(key: DocumentKey, number: int) -> Key:
    return Key(_document(key), version_sort(number))


def version_sort(number: int) -> str:
    return f"V#{number:012d}"


def source(key: SourceKey) -> Key:
    return Key("S#" + digest(key.tenant, key.source_id), "SOURCE")


def source_change(key: SourceKey, revision: int) -> Key:
    return Key(source(key).pk, f"{SOURCE_CHANGE}{revision:012d}")


def drop(source: SourceKey, name: str) -> Key:
    return Key(drops(source.tenant, name), f"DROP#{source.source_id}")


def drops(tenant: str, name: str) -> str:
    return "P#" + digest(tenant, name)


BUILD = "BUILD#"


def build(key: BuildKey) -> Key:
    return Key("B#" + digest(key.tenant), BUILD + key.build_id)


def erasure(tenant: str, erasure_id: str) -> Key:
    return Key("E#" + digest(tenant, erasure_id), "ERASURE")


def principal(tenant: str, subject: str) -> Key:
    return Key("U#" + digest(tenant, subject), "PRINCIPAL")


def service(copy: int) -> Key:
    return Key(f"C#{copy}", "CONTROL")


def trust_change(tenant: str, about: str, position: str) -> Key:
    """``position``: what orders the changes. The service's own are of the tenant ""."""
    return Key(trust_changes(tenant, about), f"{TRUST_CHANGE}{position}")


def trust_changes(tenant: str, about: str) -> str:
    return "G#" + digest(tenant, about)


def revocations(copy: int) -> Key:
    """Read with every search, so there are as many copies as of the service's control item."""
    return Key(f"R#{copy}", "REVOKED")


def page_secret() -> Key:
    return Key("PAGES", "SECRET")


def mark() -> Key:
    """In the ledger and the work table; trust has its mark in the control item."""
    return Key("LAYOUT", "LAYOUT")


def tenant(tenant: str) -> Key:
    return Key("T#" + digest(tenant), "TENANT")


def policy(policy_digest: str) -> Key:
    return Key(f"POLICY#{policy_digest}", "POLICY")


def head_shard(key: DocumentKey) -> int:
    return hashlib.sha256(key.document_id.encode()).digest()[0] % LISTING_SHARDS


def head_listing(tenant: str, shard: int) -> str:
    return f"{head_listing_of(tenant)}{shard}"


def head_listing_of(tenant: str) -> str:
    """What begins all of a tenant's."""
    return f"H#{tenant}#"


def superseded_listing(shard: int) -> str:
    """Of all tenants: whoever goes through it goes through all of it."""
    return f"X#{shard}"


LEAVING = "!"
"""Where a version stands that is marked: before every time."""


def superseded_position(since: datetime) -> str:
    """Of one length, so that text is ordered as time is."""
    return since.astimezone(UTC).isoformat(timespec="microseconds")


def source_listing(tenant: str) -> str:
    """Sources are few: one partition lists a tenant's."""
    return f"S#{tenant}"
