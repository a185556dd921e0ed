"""Each kind of item of the ledger, with the tables that it lies in and the key of one of them."""

from __future__ import annotations

from collections.abc import Mapping

from custody.adapters.dynamodb import layout
from custody.domain.model import BuildKey, DocumentKey, SourceKey

_GUIDE = DocumentKey("acme", "guide")
_WIKI = SourceKey("acme", "wiki")

ITEMS: Mapping[str, tuple[tuple[str, ...], layout.Key]] = {
    "service": (("trust",), layout.service(0)),
    "tenant": (("trust",), layout.tenant("acme")),
    "principal": (("trust",), layout.principal("acme", "ann")),
    "source": (("trust",), layout.source(_WIKI)),
    "source_change": (("trust",), layout.source_change(_WIKI, 1)),
    "policy": (("trust",), layout.policy("0" * 64)),
    "trust_change": (("trust",), layout.trust_change("acme", "key/k", "1")),
    "revocations": (("revocations",), layout.revocations(0)),
    "page_secret": (("trust",), layout.page_secret()),
    "head": (("ledger",), layout.head(_GUIDE)),
    "acl_revision": (("ledger",), layout.acl_revision(_GUIDE, 1)),
    "erasure": (("ledger",), layout.erasure("acme", "er-1")),
    "version": (("work",), layout.version(_GUIDE, 1)),
    "drop": (("work",), layout.drop(_WIKI, "a.md")),
    "build": (("builds",), layout.build(BuildKey("acme", "live-1"))),
    "mark": (("ledger", "work"), layout.mark()),
}
