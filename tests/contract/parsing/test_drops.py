"""What is told of a drop that no child could read."""

from __future__ import annotations

import json

import pytest

from custody.adapters.parsers.format_parser import FormatParser
from custody.adapters.parsers.limits import Limits
from custody.domain.ledger.drops import DropState
from custody.domain.model import SourceKey
from custody_memory.ledger import MemoryLedger
from custody_memory.objects import MemoryObjects
from tests.support.ingest_world import TENANT, FakeClock, WorldOn
from tests.support.memory_index import MemoryIndex

REPEATED = (
    ",".join("h" * 1_000 for _ in range(1_000)) + "\n" + (",".join("x" * 1_000) + "\n") * 700
).encode()


@pytest.mark.parametrize(
    ("name", "body", "limits", "code"),
    [
        ("wide.csv", REPEATED, Limits(), "too-much-text"),
        ("deep.html", b'<div title="</div>">' * 50_000, Limits(seconds=1), "document-too-complex"),
        (
            "large.json",
            b"[" + b"[]," * 1_000_000 + b"[]]",
            Limits(memory_bytes=100_000_000),
            "document-too-complex",
        ),
    ],
    ids=["makes too much", "takes too long", "takes too much memory"],
)
def test_a_file_that_ends_its_child_is_rejected_with_the_reason(
    name: str, body: bytes, limits: Limits, code: str
) -> None:
    world = WorldOn(
        MemoryLedger(), MemoryObjects(FakeClock()), MemoryIndex(), parser=FormatParser(limits)
    )
    world.source()
    world.deliver(world.drop(name, body))
    drop = world.ledger.drop(SourceKey(TENANT, "wiki"), name)
    assert drop is not None
    assert (drop.state, drop.reasons) == (DropState.REJECTED, (code,))
    found = world.objects.head(f"rejected/{TENANT}/wiki/{name}.reason.json")
    assert found is not None
    assert json.loads(world.objects.get(found.ref, limit=10_000))["reasons"] == [code]
