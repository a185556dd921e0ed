"""A tenant with one published document, which nothing that is refused may harm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from custody_client import Client
from tests.support.service import PATIENCE, Person, Service, new_tenant

WORDS = "The canary sings in the north gallery."


@dataclass(frozen=True)
class Canary:
    """``everyone``: a principal with every scope, so that a refusal is never one of rights."""

    service: Service
    tenant: str
    everyone: Person
    client: Client

    def seen(self) -> dict[str, object]:
        """What a refusal must leave as it is."""
        documents = list(self.client.iter_documents(state="ACTIVE"))
        found = self.client.search("where does the canary sing", k=100)
        return {
            "documents": [(d["document_id"], d["version"], d["statement_id"]) for d in documents],
            "sources": self.client.list_sources()["sources"],
            "results": sorted(
                (r["document_id"], r["version"], r["text"]) for r in found["results"]
            ),
        }


@pytest.fixture(scope="module")
def canary(service: Service) -> Canary:
    tenant = new_tenant("bad")
    service.source(tenant, "wiki")
    service.source(tenant, "closed", default_acl=None, max_acl=["group:publishers"])
    scopes = ("read", "write", "erase", "govern", "audit", "override")
    everyone = Person(tenant, "pat", ("publishers",), scopes)
    client = service.client(everyone)
    client.put_document("canary", "wiki", WORDS, "text/plain")
    client.wait_for_document("canary", timeout=PATIENCE)
    return Canary(service, tenant, everyone, client)


@pytest.fixture
def unharmed(canary: Canary) -> Iterator[None]:
    """The canary is served before and after, and nothing else has come to be."""
    before = canary.seen()
    assert ("canary", 1, WORDS) in before["results"]  # type: ignore[operator]  # a list
    yield
    assert canary.seen() == before
