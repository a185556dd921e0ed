"""``EvidenceIndex`` on OpenSearch.

Every search is one msearch. Nothing partial passes for an answer: a failed shard, a part that ran
out of time or a missing part is Unavailable. Only a space that was never made proposes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import batched
from typing import Any, Literal, NamedTuple

from opensearchpy import OpenSearch
from opensearchpy.exceptions import (
    ImproperlyConfigured,
    NotFoundError,
    OpenSearchException,
    RequestError,
    TransportError,
)

from custody.adapters.opensearch_index import answers, mapping, queries
from custody.domain.index.candidates import Hit, IndexEntry, LegHits, LegQuery, Space, Vector
from custody.domain.index.rules import (
    checked_vector,
    checked_vectors,
    matches_nothing,
    model_mismatch,
    space_groups,
)
from custody.domain.model import Acl, DocumentKey, Leg
from custody.domain.text.analysis import query_terms
from custody.errors import CustodyError, IntegrityError

type Purpose = Leg | Literal["probe", "field"]

_BULK_CHUNKS = 100
_CONFLICT_ATTEMPTS = 8
_SET_ACL = (
    "if (ctx._source.acl.equals(params.acl)) { ctx.op = 'noop' }"
    " else { ctx._source.acl = params.acl }"
)


class _Question(NamedTuple):
    """One search of a multi-search. ``field``: the metadata field that a "field" asks for."""

    purpose: Purpose
    group: tuple[Space, ...]
    header: queries.Clause
    body: queries.Clause
    field: str = ""


class OpenSearchIndex:
    """``prefix`` begins every alias and index name. ``shards`` and ``replicas`` (what
    ``auto_expand_replicas`` takes) are for indices yet to be made. ``cluster_uuid``: the one
    cluster that may answer; with it, a wrong endpoint is an error and no empty result.
    ``sweep_timeout_s``: for a change of what a query finds. A node whose disk is full would try one
    again for minutes, and the caller has other places to go to."""

    def __init__(
        self,
        client: OpenSearch,
        prefix: str,
        *,
        shards: int = 1,
        replicas: str = "0-1",
        search_timeout_s: float = 3.0,
        write_timeout_s: float = 60.0,
        sweep_timeout_s: float = 15.0,
        cluster_uuid: str | None = None,
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._shards = shards
        self._replicas = replicas
        self._search_timeout = f"{round(search_timeout_s * 1000)}ms"
        self._write_timeout_s = write_timeout_s
        self._sweep_timeout_s = sweep_timeout_s
        self._cluster_uuid = cluster_uuid

    def ensure(self, space: Space, *, model_revision: str, dimensions: int) -> None:
        alias = self._alias(space)
        wanted = mapping.meta_of(model_revision, dimensions)
        meta = self._meta(alias)
        if meta is None:
            self._check_cluster()
            self._create(alias, model_revision, dimensions)
            meta = self._meta(alias)
        if meta is None:
            raise answers.unavailable("an index that was just made is not there")
        if (meta.get("model_revision"), meta.get("dimensions")) != (model_revision, dimensions):
            raise model_mismatch(str(meta.get("model_revision")), model_revision)
        if meta != wanted:
            raise IntegrityError(
                "The index was made with another mapping or analysis: it must be rebuilt.",
                code="index-mapping-mismatch",
            )

    def put(self, space: Space, entries: Sequence[IndexEntry]) -> None:
        if not entries:
            return
        alias = self._alias(space)
        meta = self._meta(alias)
        if meta is None:
            raise answers.unavailable("the space was never made")
        vectors = checked_vectors(
            space,
            entries,
            model_revision=meta["model_revision"],
            dimensions=meta["dimensions"],
        )
        for batch in batched(zip(entries, vectors, strict=True), _BULK_CHUNKS):
            lines = mapping.bulk_lines(alias, [e for e, _ in batch], [v for _, v in batch])
            with _reaching():
                response = self._client.bulk(
                    body=lines,
                    params={"require_alias": "true", "timeout": f"{self._write_timeout_s:.0f}s"},
                    request_timeout=self._write_timeout_s,
                )
            answers.check_bulk(response, len(batch))

    def refresh(self, spaces: Collection[Space]) -> None:
        for alias in sorted({self._alias(space) for space in spaces}):
            self._refresh(alias, self._write_timeout_s)

    def count(self, space: Space, key: DocumentKey, version: int | None = None) -> int:
        body = {
            "size": 0,
            "track_total_hits": True,
            "query": queries.document_query(key, version=version),
            "timeout": self._search_timeout,
        }
        with _reaching():
            try:
                answer = self._client.search(
                    index=self._alias(space),
                    body=body,
                    params={"allow_partial_search_results": "false"},
                )
            except NotFoundError as fault:
                _must_be_no_space(fault)
                self._check_cluster()
                return 0
        return answers.total(answers.whole(answer))

    def set_acl(self, space: Space, key: DocumentKey, version: int, acl: Acl) -> None:
        script = {"source": _SET_ACL, "lang": "painless", "params": {"acl": list(acl.allow)}}
        body = {"query": queries.document_query(key, version=version), "script": script}
        self._until_no_conflict(self._client.update_by_query, self._alias(space), body)

    def delete(
        self,
        space: Space,
        key: DocumentKey,
        *,
        version: int | None = None,
        through: int | None = None,
    ) -> None:
        body = {"query": queries.document_query(key, version=version, through=through)}
        self._until_no_conflict(self._client.delete_by_query, self._alias(space), body)

    def search(self, query: LegQuery) -> LegHits:
        filters = queries.filter_clauses(query.filter)
        terms = query_terms(query.text) if Leg.LEXICAL in query.legs else {}
        vector = checked_vector(query.vector) if Leg.SEMANTIC in query.legs else None
        if query.depth < 1 or matches_nothing(query.filter):
            terms, vector = {}, None
        fields = sorted(query.filter.metadata)
        if not query.spaces or not (terms or vector is not None or fields):
            return LegHits(unknown_fields=tuple(fields))
        asked = list(self._questions(query, filters, terms, vector, fields))
        lines = [line for question in asked for line in (question.header, question.body)]
        with _reaching():
            response = self._client.msearch(body=lines)
        found: dict[Leg, list[Hit]] = {Leg.SEMANTIC: [], Leg.LEXICAL: []}
        missing = 0
        known: set[str] = set()
        for question, part in zip(asked, answers.parts(response, len(asked)), strict=True):
            purpose = question.purpose
            if purpose is Leg.SEMANTIC and part.get("status") == 400:
                raise self._why_refused(question.group, query)
            answer = answers.whole_or_no_space(part)
            missing += answer is answers.NO_SPACE or not answer["_shards"]["total"]
            if isinstance(purpose, Leg):
                found[purpose].extend(answers.hits(answer, cosine=purpose is Leg.SEMANTIC))
            elif purpose == "field" and answers.total(answer):
                known.add(question.field)
        if missing == len(asked):
            self._check_cluster()
        for hit in found[Leg.SEMANTIC]:
            if hit.entry.model_revision != query.model_revision:
                raise model_mismatch(hit.entry.model_revision, query.model_revision)
        return LegHits(
            {leg: _ranked(hits, query.depth) for leg, hits in found.items()},
            unknown_fields=tuple(field for field in fields if field not in known),
        )

    def _questions(
        self,
        query: LegQuery,
        filters: Sequence[queries.Clause],
        terms: dict[str, int],
        vector: Vector | None,
        fields: Sequence[str],
    ) -> Iterator[_Question]:
        depth, timeout = query.depth, self._search_timeout
        for group in space_groups(query):
            aliases = [self._alias(space) for space in group]
            header = queries.header(aliases)
            if vector is not None:
                body = queries.semantic_body(vector, filters, depth=depth, timeout=timeout)
                yield _Question(Leg.SEMANTIC, group, header, body)
            if terms:
                body = queries.lexical_body(terms, filters, depth=depth, timeout=timeout)
                yield _Question(Leg.LEXICAL, group, queries.header(aliases, lexical=True), body)
            for field in fields:
                body = queries.field_body(field, query.filter, timeout=timeout)
                yield _Question("field", group, header, body, field)
            for alias in aliases if len(aliases) > 1 else ():
                yield _Question("probe", group, queries.header([alias]), queries.PROBE)

    def ping(self) -> None:
        with _reaching():
            info = self._client.info()
        if not isinstance(info, dict) or "cluster_uuid" not in info:
            raise answers.unavailable("what answers is no OpenSearch")
        if self._cluster_uuid not in (None, info["cluster_uuid"]):
            raise answers.unavailable("another cluster answers")

    def _alias(self, space: Space) -> str:
        return mapping.alias_of(self._prefix, space)

    def _check_absence(self, alias: str) -> None:
        """A cluster that has yet to recover its state says of every index that there is none, except
        to a search: that it refuses."""
        with _reaching():
            answer = self._client.search(
                index=alias, body={"size": 0}, params={"ignore_unavailable": "true"}
            )
        if answers.whole(answer)["_shards"]["total"]:
            raise answers.unavailable("an index that was not there is there")
        self._check_cluster()

    def _check_cluster(self) -> None:
        """No space exists here: make sure that this is the cluster where they would."""
        if self._cluster_uuid is not None:
            self.ping()

    def _meta(self, alias: str) -> dict[str, Any] | None:
        with _reaching():
            try:
                response = self._client.indices.get_mapping(index=alias)
            except NotFoundError as fault:
                _must_be_no_space(fault)
                return None
        try:
            meta = mapping.meta_in(response)
        except (KeyError, TypeError, AttributeError) as fault:
            raise answers.unavailable("its mapping can't be read") from fault
        if meta is None:
            raise answers.unavailable("an index of that name is not Custody's")
        return meta

    def _create(self, alias: str, model_revision: str, dimensions: int) -> None:
        body = mapping.index_body(
            alias,
            model_revision=model_revision,
            dimensions=dimensions,
            shards=self._shards,
            replicas=self._replicas,
        )
        with _reaching():
            try:
                self._client.indices.create(
                    index=mapping.index_of(alias), body=body, request_timeout=self._write_timeout_s
                )
            except RequestError as fault:
                # Another process was faster: what it made is checked like any other.
                if fault.error != "resource_already_exists_exception":
                    raise

    def _refresh(self, alias: str, timeout_s: float) -> bool:
        """False where there is no such space."""
        with _reaching():
            try:
                response = self._client.indices.refresh(index=alias, request_timeout=timeout_s)
            except NotFoundError as fault:
                _must_be_no_space(fault)
                self._check_absence(alias)
                return False
        shards = response.get("_shards") if isinstance(response, dict) else None
        if not shards or shards["failed"]:
            raise answers.unavailable("a refresh failed")
        return True

    def _until_no_conflict(
        self, call: Callable[..., Any], alias: str, body: dict[str, Any]
    ) -> None:
        """Update or delete by query until no concurrent write got in between. The refresh before
        it lets it see chunks that were put and never refreshed."""
        for _ in range(_CONFLICT_ATTEMPTS):
            if not self._refresh(alias, self._sweep_timeout_s):
                return
            with _reaching():
                response = call(
                    index=alias,
                    body=body,
                    params={"conflicts": "proceed", "refresh": "true"},
                    request_timeout=self._sweep_timeout_s,
                )
            if answers.by_query_conflicts(response) == 0:
                return
        raise answers.unavailable("concurrent writes kept getting in between")

    def _why_refused(self, group: tuple[Space, ...], query: LegQuery) -> CustodyError:
        """The node refused the vector: because it is of another model, most likely."""
        for space in group:
            meta = self._meta(self._alias(space))
            if meta is None or query.vector is None:
                continue
            if meta["model_revision"] != query.model_revision:
                return model_mismatch(meta["model_revision"], query.model_revision)
            if meta["dimensions"] != query.vector.shape[0]:
                return IntegrityError("A vector has the wrong size.", code="invalid-vector")
        return answers.unavailable("it refused a search")


def _ranked(hits: list[Hit], depth: int) -> tuple[Hit, ...]:
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.entry.chunk_id))[:depth])


def _must_be_no_space(fault: NotFoundError) -> None:
    """Raises ``fault`` again where the 404 is not OpenSearch's word on an index."""
    if fault.error not in ("index_not_found_exception", "alias_not_found_exception"):
        raise fault


@contextmanager
def _reaching() -> Iterator[None]:
    """Every fault of the way to the index, and every refusal, as Unavailable."""
    try:
        yield
    except TransportError as fault:
        raise answers.unavailable(f"HTTP status {fault.status_code}") from fault
    except (OpenSearchException, ImproperlyConfigured) as fault:
        raise answers.unavailable(type(fault).__name__) from fault
