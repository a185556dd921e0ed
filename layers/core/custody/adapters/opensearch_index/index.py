"""``EvidenceIndex`` on OpenSearch.

Every search is one msearch. Nothing partial passes for an answer: a failed shard, a part that ran
out of time or a missing part is Unavailable. Only a space that has no index proposes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from custody.adapters.opensearch_index import answers, queries
from custody.adapters.opensearch_index.reaching import reaching
from custody.adapters.opensearch_index.rebuilding import Rebuilding
from custody.domain.index.candidates import (
    Hit,
    IndexEntry,
    LegHits,
    LegQuery,
    SearchFilter,
    Space,
    Vector,
)
from custody.domain.index.rules import (
    checked_vector,
    matches_nothing,
    model_mismatch,
    space_groups,
    united,
)
from custody.domain.model import Leg
from custody.domain.text.analysis import query_terms
from custody.errors import CustodyError, IntegrityError

type Purpose = Leg | Literal["alias", "every"]

_ATTEMPTS = 2


class _Question(NamedTuple):
    """One search of a multi-search. "alias" and "every" are probes: is an index of the space
    served, and is there any at all?"""

    purpose: Purpose
    group: tuple[Space, ...]
    header: queries.Clause
    body: queries.Clause


class OpenSearchIndex(Rebuilding):
    """``prefix`` begins every alias and index name. ``shards`` and ``replicas`` (what
    ``auto_expand_replicas`` takes) are for indices yet to be made. ``cluster_uuid``: the one
    cluster that may answer; with it, a wrong endpoint is an error and no empty result.
    ``sweep_timeout_s``: for a change of what a query finds. A node whose disk is full would try one
    again for minutes, and the caller has other places to go to. ``piece_timeout_s``: for what is put
    into one index alone, under a lease."""

    def search(self, query: LegQuery) -> LegHits:
        filters = queries.filter_clauses(query.filter)
        terms = query_terms(query.text) if Leg.LEXICAL in query.legs else {}
        vector = checked_vector(query.vector) if Leg.SEMANTIC in query.legs else None
        if query.depth < 1 or matches_nothing(query.filter):
            terms, vector = {}, None
        if not query.spaces or not (terms or vector is not None):
            return LegHits()
        asked = list(self._questions(query, filters, terms, vector))
        lines = [line for question in asked for line in (question.header, question.body)]
        for _ in range(_ATTEMPTS):
            with reaching():
                response = self._client.msearch(body=lines)
            found = self._read(query, asked, answers.parts(response, len(asked)))
            if found is not None:
                return found
        raise answers.unavailable("its indices keep changing")

    def _read(
        self, query: LegQuery, asked: Sequence[_Question], parts: Sequence[Mapping[str, Any]]
    ) -> LegHits | None:
        """None where an index was made between two of the searches, so that they have to be asked
        again."""
        found: dict[Leg, list[Hit]] = {Leg.SEMANTIC: [], Leg.LEXICAL: []}
        unreadable: Counter[Leg] = Counter()
        nothing_found = True
        unserved: set[Space] = set()
        there: set[Space] = set()
        for question, part in zip(asked, parts, strict=True):
            purpose = question.purpose
            if purpose is Leg.SEMANTIC and part.get("status") == 400:
                raise self._why_refused(question.group, query)
            if purpose == "every":
                if not answers.is_nowhere(part):
                    there.update(question.group)
                continue
            answer = answers.whole_or_no_space(part)
            absent = answer is answers.NO_SPACE or not answer["_shards"]["total"]
            nothing_found &= absent
            if absent and len(question.group) == 1:
                unserved.update(question.group)
            if isinstance(purpose, Leg):
                read, odd = answers.hits(answer, cosine=purpose is Leg.SEMANTIC)
                found[purpose].extend(read)
                unreadable[purpose] += odd
        if not there and nothing_found:
            self._check_cluster()
        if unserved & there:
            self._check_revision(min(unserved & there, key=str), query.model_revision)
            return None
        return LegHits(
            {leg: _ranked(query, hits) for leg, hits in found.items()}, unreadable=unreadable
        )

    def sample(
        self, query: LegQuery, filters: Sequence[SearchFilter], size: int
    ) -> tuple[tuple[IndexEntry, ...], ...]:
        groups = [
            [self._alias(space, query.model_revision or "") for space in group]
            for group in space_groups(query)
        ]
        asked = [(place, aliases) for place in range(len(filters)) for aliases in groups]
        if not asked:
            return tuple(() for _ in filters)
        lines = [
            line
            for place, aliases in asked
            for line in (
                queries.header(aliases),
                queries.sample_body(
                    queries.filter_clauses(filters[place]),
                    size=size,
                    timeout=self._search_timeout,
                ),
            )
        ]
        with reaching():
            response = self._client.msearch(body=lines)
        found: list[list[IndexEntry]] = [[] for _ in filters]
        for (place, _), part in zip(asked, answers.parts(response, len(asked)), strict=True):
            answer = answers.whole_or_no_space(part)
            if answer is not answers.NO_SPACE:
                found[place].extend(answers.entries(answer))
        return tuple(tuple(entries[:size]) for entries in found)

    def _questions(
        self,
        query: LegQuery,
        filters: Sequence[queries.Clause],
        terms: dict[str, int],
        vector: Vector | None,
    ) -> Iterator[_Question]:
        depth, timeout = query.depth, self._search_timeout
        for group in space_groups(query):
            aliases = [self._alias(space, query.model_revision or "") for space in group]
            header = queries.header(aliases)
            if vector is not None:
                make = queries.exact_body if group[0].history else queries.semantic_body
                body = make(vector, filters, depth=depth, timeout=timeout)
                yield _Question(Leg.SEMANTIC, group, header, body)
            if terms:
                body = queries.lexical_body(terms, filters, depth=depth, timeout=timeout)
                yield _Question(Leg.LEXICAL, group, queries.header(aliases, lexical=True), body)
            for space, alias in zip(group, aliases, strict=True):
                if len(group) > 1:
                    yield _Question("alias", (space,), queries.header([alias]), queries.PROBE)
                every = queries.every_header(self._every(space))
                yield _Question("every", (space,), every, queries.PROBE)

    def _check_revision(self, space: Space, model_revision: str | None) -> None:
        """Raises IntegrityError(model-revision-mismatch) unless one of the revision is served."""
        alias = self._alias(space, model_revision or "")
        if alias not in self._served(space):
            others = self._list(space)
            raise model_mismatch(others[0].model_revision if others else "none", model_revision)

    def _why_refused(self, group: Sequence[Space], query: LegQuery) -> CustodyError:
        """The node refused the vector: because of its size, most likely."""
        for space in group:
            for index in self._list(space):
                if (
                    index.model_revision == query.model_revision
                    and query.vector is not None
                    and index.meta["dimensions"] != query.vector.shape[0]
                ):
                    return IntegrityError("A vector has the wrong size.", code="invalid-vector")
        return answers.unavailable("it refused a search")


def _ranked(query: LegQuery, hits: list[Hit]) -> tuple[Hit, ...]:
    once = united(query, hits)
    return tuple(sorted(once, key=lambda hit: (-hit.score, hit.entry.chunk_id))[: query.depth])
