"""index: rebuild, list, drop."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from custody_cli import output
from custody_cli.errors import NO
from custody_cli.options import Groups, Json, Subject, Tenant, command, path_segment, who
from custody_cli.progress import spinner
from custody_cli.target import AUDIT, GOVERN, resolve
from custody_cli.wiring import wired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from custody_client import Client
    from custody_client.types import IndexBuild

BUILDING = "BUILDING"
SERVED = "SERVED"
NOTHING = "nothing-to-index"
LOOK_AGAIN_SECONDS = 1.0


class Model(StrEnum):
    OWN = "own"
    OTHER = "other"


@command
def rebuild(
    ctx: typer.Context,
    *,
    model: Annotated[
        Model,
        typer.Option(help="The deployment's own model, or the other one of its rebuild function."),
    ] = Model.OWN,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all are served.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait at most.")] = 3600.0,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> int:
    """Build the tenant's indices anew, beside those that are served, and put them in their place."""
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        begun = client.rebuild_indexes(model=model.value)["indices"]
        if not wait:
            _tell(begun, as_json=as_json)
            return 0
        done = _wait(client, {build["build_id"] for build in begun}, timeout)
    _tell(done, as_json=as_json)
    return 0 if all(_is_well(build) for build in done) else NO


@command
def list_indexes(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """List the tenant's indices: being built, served, retiring, given up."""
    target = resolve(wired(ctx), who(tenant, subject, groups), [AUDIT])
    with target.client() as client:
        _tell(client.indexes(), as_json=as_json)


@command
def drop(
    ctx: typer.Context,
    build_id: Annotated[str, typer.Argument(help="The build's id, as list tells it.")],
    *,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Give up an index that is being built, or retire one of a former model."""
    build_id = path_segment(build_id, what="a build's id")
    target = resolve(wired(ctx), who(tenant, subject, groups), [GOVERN])
    with target.client() as client:
        dropped = client.drop_index(build_id)
    if as_json:
        output.show_json(cast("dict[str, object]", dropped))
    else:
        _tell([dropped], as_json=False)


def _is_well(build: IndexBuild) -> bool:
    """Where there is nothing to index, as in the history of a new tenant, none is needed."""
    return build["state"] == SERVED or build["reason"] == NOTHING


def _wait(client: Client, wanted: set[str], timeout: float) -> list[IndexBuild]:
    """Those of ``wanted``, once none of them is being built, or as they are when time is up."""
    end = time.monotonic() + timeout
    with spinner("Building the indices anew"):
        while True:
            found = [build for build in client.indexes() if build["build_id"] in wanted]
            building = [build for build in found if build["state"] == BUILDING]
            if not building or time.monotonic() >= end:
                return found
            time.sleep(LOOK_AGAIN_SECONDS)


def _tell(builds: Sequence[IndexBuild], *, as_json: bool) -> None:
    if as_json:
        output.show_json({"indices": cast("list[object]", list(builds))})
        return
    from custody_cli import tables

    output.show(*tables.indexes(builds))
