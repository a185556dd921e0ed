"""The filter of a search as SQL with bound values; no value ever becomes SQL text."""

from __future__ import annotations

from custody.domain.index.candidates import SearchFilter
from custody.domain.index.metadata_match import (
    AnyTag,
    Between,
    conditions,
    microseconds,
    tag_prefix,
)

type Values = list[str | int | float]


def allowed_chunks(space: int, tenant: str, wanted: SearchFilter) -> tuple[str, Values]:
    """SQL that yields two lists, comma-separated: ids of all chunks of the space, which is one of
    ``tenant``, that the filter lets through, and their lengths, in no order. One text is read
    several times faster than many rows."""
    at = microseconds(wanted.valid_at)
    where = ["c.space = ?", "c.valid_from <= ?", "c.valid_to > ?"]
    values: Values = [space, at, at]

    def among(clause: str, bound: Values) -> None:
        where.append(clause.replace("(?*)", f"({','.join('?' * len(bound))})"))
        values.extend(bound)

    values.append(space)
    among("c.id IN (SELECT id FROM acl WHERE space = ? AND term IN (?*))", [*wanted.acl_terms])
    if wanted.source_ids is not None:
        among("c.source_id IN (?*)", [*wanted.source_ids])
    if wanted.trust_domains is not None:
        among("c.trust_domain IN (?*)", [*wanted.trust_domains])
    if wanted.observed_since is not None:
        where.append("c.observed_at >= ?")
        values.append(microseconds(wanted.observed_since))
    if wanted.recorded_at is not None:
        where.append("c.recorded_from <= ? AND c.recorded_through > ?")
        values += [microseconds(wanted.recorded_at)] * 2
    for condition in conditions(wanted.metadata):
        if isinstance(condition, AnyTag):
            values.append(space)
            among(
                "c.id IN (SELECT id FROM tags WHERE space = ? AND tag IN (?*))", [*condition.tags]
            )
        else:
            clause, bounds = _between(condition)
            where.append(clause)
            values.extend(bounds)
    if wanted.carries is not None:
        first = tag_prefix(wanted.carries)
        after = first[:-1] + chr(ord(first[-1]) + 1)
        where.append("EXISTS (SELECT 1 FROM tags t WHERE t.id = c.id AND t.tag >= ? AND t.tag < ?)")
        values.extend([first, after])
    without = (
        (
            "c.document_id NOT IN (?*)",
            [key.document_id for key in wanted.without_documents if key.tenant == tenant],
        ),
        (
            "c.source_id NOT IN (?*)",
            [key.source_id for key in wanted.without_sources if key.tenant == tenant],
        ),
    )
    for clause, names in without:
        if names:
            among(clause, [*names])
    sql = (
        "SELECT group_concat(c.id), group_concat(c.length) FROM chunks c"  # noqa: S608 - fixed texts
        f" INDEXED BY chunks_to_filter WHERE {' AND '.join(where)}"
    )
    return sql, values


def _between(condition: Between) -> tuple[str, Values]:
    """One and the same value within both bounds."""
    columns = {"number": "o.number", "time": "o.time"}
    clause = "EXISTS (SELECT 1 FROM ordered o WHERE o.id = c.id AND o.key = ?"
    values: Values = [condition.key]
    for operator, bound in ((">=", condition.gte), ("<=", condition.lte)):
        if bound is not None:
            clause += f" AND {columns[condition.unit]} {operator} ?"
            values.append(bound)
    return clause + ")", values
