"""search and answer."""

from __future__ import annotations

import json
import math
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from custody_cli import output
from custody_cli.errors import NO, usage
from custody_cli.options import Groups, Json, Subject, Tenant, command, who
from custody_cli.progress import spinner
from custody_cli.target import AUDIT, OVERRIDE, READ, resolve
from custody_cli.wiring import wired

if TYPE_CHECKING:
    from custody_client.types import AnswerFields, FilterValue, SearchFields

MAX_QUERY = 2_000
_CLAUSE = re.compile(r"(?P<name>[^<>=]+)(?P<sign>>=|<=|=)(?P<value>.*)", re.DOTALL)

Query = Annotated[str, typer.Argument(help="The question, up to 2,000 characters.")]
Results = Annotated[int, typer.Option("-k", "--results", min=1, max=100, help="Results at most.")]
Sources = Annotated[list[str] | None, typer.Option("--source", help="Only this source (repeat).")]
Domains = Annotated[
    list[str] | None, typer.Option("--trust-domain", help="Only this trust domain (repeat).")
]
Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", help="name=value, name>=value or name<=value (repeat)."),
]
Audit = Annotated[
    bool, typer.Option("--audit", help="Ask with the audit scope (local stack): what was withheld.")
]


class RouteOption(StrEnum):
    AUTO = "auto"
    SPARSE = "sparse"
    DENSE = "dense"
    HYBRID = "hybrid"


class Fusion(StrEnum):
    RRF = "rrf"
    LINEAR = "linear"


class Preset(StrEnum):
    STRICT = "strict"
    BALANCED = "balanced"
    LENIENT = "lenient"


@command
def search(
    ctx: typer.Context,
    query: Query,
    *,
    results: Results = 10,
    route: RouteOption = RouteOption.AUTO,
    fusion: Fusion = Fusion.RRF,
    source: Sources = None,
    trust_domain: Domains = None,
    filter_: Filters = None,
    full: Annotated[bool, typer.Option("--full", help="Show whole passages.")] = False,
    audit: Audit = False,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> int:
    """Find evidence. Exit code 1 when nothing was found."""
    fields = _fields(query, results, route, fusion, source, trust_domain, filter_)
    target = resolve(wired(ctx), who(tenant, subject, groups), [READ, *([AUDIT] if audit else [])])
    with target.client() as client, spinner("Searching"):
        found = client.search(query, **fields)
    if as_json:
        output.show_json(cast("dict[str, object]", found))
    else:
        from custody_cli import tables

        output.show(*tables.search(found, full=full))
    return 0 if found["results"] else NO


@command
def answer(
    ctx: typer.Context,
    query: Query,
    *,
    results: Results = 10,
    preset: Annotated[Preset | None, typer.Option(help="How strict the gate is.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="In place of a preset.")
    ] = None,
    override: Annotated[
        bool, typer.Option("--override", help="Override the gate; it is written into the trace.")
    ] = False,
    route: RouteOption = RouteOption.AUTO,
    fusion: Fusion = Fusion.RRF,
    source: Sources = None,
    trust_domain: Domains = None,
    filter_: Filters = None,
    full: Annotated[bool, typer.Option("--full", help="Show whole passages.")] = False,
    tenant: Tenant = None,
    subject: Subject = None,
    groups: Groups = None,
    as_json: Json = False,
) -> int:
    """Ask whether the evidence suffices. Exit code 1 when it doesn't (or needs a review)."""
    if preset is not None and threshold is not None:
        raise usage("Give --preset or --threshold, not both.")
    narrowed = _fields(query, results, route, fusion, source, trust_domain, filter_)
    fields = cast("AnswerFields", narrowed)  # the same dictionary with more to come
    if preset is not None:
        fields["preset"] = preset.value
    if threshold is not None:
        fields["threshold"] = threshold
    if override:
        fields["gate_override"] = True
    target = resolve(
        wired(ctx), who(tenant, subject, groups), [READ, *([OVERRIDE] if override else [])]
    )
    with target.client() as client, spinner("Weighing the evidence"):
        given = client.answer(query, **fields)
    if as_json:
        output.show_json(cast("dict[str, object]", given))
    else:
        from custody_cli import tables

        output.show(*tables.answer(given, full=full))
    return 0 if given["verdict"] == "answerable" else NO


def _fields(
    query: str,
    results: int,
    route: RouteOption,
    fusion: Fusion,
    sources: list[str] | None,
    trust_domains: list[str] | None,
    filters: list[str] | None,
) -> SearchFields:
    if not query.strip():
        raise usage("The question is empty.", field="query")
    if len(query) > MAX_QUERY:
        raise usage(f"The question is longer than {MAX_QUERY:,} characters.", field="query")
    fields: SearchFields = {"k": results, "route": route.value, "fusion": fusion.value}
    if sources:
        fields["source_ids"] = sources
    if trust_domains:
        fields["trust_domains"] = trust_domains
    if filters:
        fields["filter"] = parse_filters(filters)
    return fields


def parse_filters(clauses: list[str]) -> dict[str, FilterValue]:
    """``year>=2020 year<=2024`` is one range, ``lang=en lang=de`` either of both.

    A value that is JSON is that (5, true, "5"), any other text is a string.
    """
    found: dict[str, FilterValue] = {}
    for clause in clauses:
        parts = _CLAUSE.fullmatch(clause)
        if parts is None:
            raise usage(
                f"{clause!r} is no filter.",
                "Write name=value, name>=value or name<=value.",
                field="filter",
            )
        name, value = parts["name"].strip(), _value(parts["value"].strip())
        former = found.get(name)
        if parts["sign"] == "=":
            if isinstance(former, dict):
                raise usage(f"{name} can't have a value and a range.", field="filter")
            found[name] = value if former is None else _either(former, value)
        else:
            if isinstance(value, bool):
                raise usage(f"{name} can't be compared with {value}.", field="filter")
            if former is not None and not isinstance(former, dict):
                raise usage(f"{name} can't have a value and a range.", field="filter")
            bound = "gte" if parts["sign"] == ">=" else "lte"
            found[name] = {**(former or {}), bound: value}
    return found


def _value(text: str) -> str | int | float | bool:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, float) and not math.isfinite(value):
        return text  # no JSON number; NaN and Infinity are read by json all the same
    return value if isinstance(value, str | int | float) else text


def _either(former: FilterValue, value: str | float | bool) -> FilterValue:
    assert not isinstance(former, dict)
    return [*former, value] if isinstance(former, list) else [former, value]
