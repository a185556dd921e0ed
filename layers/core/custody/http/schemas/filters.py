"""Filters on metadata, as a request gives them and as a stored answer tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StringConstraints

from custody.domain.index import candidates
from custody.domain.index.metadata_match import conditions
from custody.domain.intake import validation
from custody.domain.model import MetadataValue
from custody.errors import Unprocessable
from custody.http.schemas.common import Schema

MAX_VALUE_CHARACTERS = 1_024
MAX_FILTER_CHARACTERS = 32_768

type FilterText = Annotated[str, StringConstraints(max_length=MAX_VALUE_CHARACTERS)]
type FilterValue = FilterText | bool | int | float


class FilterRange(Schema):
    gte: FilterText | float | int | None = None
    lte: FilterText | float | int | None = None


type FilterClause = (
    FilterValue | Annotated[list[FilterValue], Field(min_length=1, max_length=100)] | FilterRange
)


def search_filter(given: Mapping[str, FilterClause] | None) -> dict[str, candidates.FilterClause]:
    """Clauses as the index takes them. Raises Unprocessable(invalid-field | unknown-field)."""
    found = {
        validation.filter_name(name): _clause(clause) for name, clause in (given or {}).items()
    }
    texts = (one for clause in found.values() for one in _values(clause) if isinstance(one, str))
    if sum(map(len, texts)) > MAX_FILTER_CHARACTERS:
        raise Unprocessable(
            f"The values of a filter have at most {MAX_FILTER_CHARACTERS:,} characters in all.",
            field="filter",
        )
    conditions(found)  # a range that can't bind is refused before anything is asked
    return found


def _values(clause: candidates.FilterClause) -> tuple[object, ...]:
    if isinstance(clause, candidates.Range):
        return (clause.gte, clause.lte)
    return clause if isinstance(clause, tuple) else (clause,)


def _clause(clause: FilterClause) -> candidates.FilterClause:
    if isinstance(clause, list):
        values: tuple[MetadataValue, ...] = tuple(clause)
        return values
    if isinstance(clause, FilterRange):
        return candidates.Range(gte=clause.gte, lte=clause.lte)
    return clause


def told_filter(held: Mapping[str, candidates.FilterClause]) -> dict[str, FilterClause]:
    """Clauses as a request gives them: the reverse of ``search_filter``."""
    return {name: _told(clause) for name, clause in held.items()}


def _told(clause: candidates.FilterClause) -> FilterClause:
    if isinstance(clause, candidates.Range):
        bounds = {"gte": clause.gte, "lte": clause.lte}
        return FilterRange(**{name: bound for name, bound in bounds.items() if bound is not None})
    if isinstance(clause, tuple):
        return [
            one for value in clause for one in (value if isinstance(value, tuple) else (value,))
        ]
    return clause
