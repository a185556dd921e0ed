"""What every store of builds must do: one suite, in memory and on DynamoDB's API."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from custody.adapters.dynamodb import DynamoBuilds, connect
from custody.application.ports import Builds
from custody.domain.index.builds import Batch, BuildState, BuildStep, IndexBuild, Pass
from custody.domain.index.candidates import Space
from custody.domain.model import BuildKey, Envelope
from custody.errors import Moved
from custody_memory.builds import MemoryBuilds
from tests.support.records import LATER, NOW
from tests.support.tables import create_table, table


@pytest.fixture(params=["memory", pytest.param("dynamodb", marks=pytest.mark.emulator)])
def builds(request: pytest.FixtureRequest) -> Iterator[Builds]:
    if request.param == "memory":
        yield MemoryBuilds()
        return
    client = connect(endpoint_url=request.getfixturevalue("aws_endpoint"), read_timeout=60)
    name = f"custody-{uuid.uuid4().hex}-builds"
    create_table(client, name)
    yield DynamoBuilds(table(client, name))
    client.delete_table(TableName=name)
    client.close()


def build_of(build_id: str = "live-1", tenant: str = "acme", **changes: Any) -> IndexBuild:
    made = IndexBuild(
        key=BuildKey(tenant, build_id),
        space=Space(tenant),
        revision=0,
        state=BuildState.BUILDING,
        requested_by="gov",
        requested_at=NOW,
    )
    return replace(made, **changes)


def test_a_build_comes_back_as_it_was_put(builds: Builds) -> None:
    whole = build_of(
        model="other",
        step=BuildStep.VERIFY,
        index="acme-1",
        model_revision="m@1",
        mapping_version="1",
        analysis_version="2",
        former_revision="m@0",
        current=Pass(NOW, "cursor", versions=3, chunks=9, late=1, sum=bytes(range(256)) * 8),
        passes=2,
        written=12,
        batch=Batch("run-1", ("a", "ü"), LATER),
        statement_id="s",
        envelope=Envelope("t", b"payload", "k", b"\x00\xff"),
        snapshot_digest="d",
        versions=3,
        chunks=9,
        reason="r",
        retire_at=LATER,
        served_at=LATER,
        updated_at=LATER,
    )
    assert builds.build(whole.key) is None
    stored = builds.put_build(whole)
    assert stored == replace(whole, revision=1)
    assert builds.build(whole.key) == stored


def test_a_build_is_written_on_the_revision_that_was_read(builds: Builds) -> None:
    first = builds.put_build(build_of())
    with pytest.raises(Moved):
        builds.put_build(build_of())
    second = builds.put_build(replace(first, step=BuildStep.COPY))
    with pytest.raises(Moved):
        builds.put_build(replace(first, step=BuildStep.SIGN))
    assert builds.build(first.key) == second


def test_a_tenants_builds_are_listed_and_no_others(builds: Builds) -> None:
    assert builds.builds("acme") == ()
    for build_id in ("live-2", "history-1", "live-1"):
        builds.put_build(build_of(build_id))
    builds.put_build(build_of("live-1", tenant="globex"))
    assert [build.key.build_id for build in builds.builds("acme")] == [
        "history-1",
        "live-1",
        "live-2",
    ]
    assert [build.key.tenant for build in builds.builds("globex")] == ["globex"]


def test_every_builds_record_is_read_whatever_its_size(builds: Builds) -> None:
    for n in range(8):
        large = replace(build_of(f"live-{n}"), batch=Batch("r", ("d" * 200_000,), LATER))
        builds.put_build(large)
    assert len(builds.builds("acme")) == 8
