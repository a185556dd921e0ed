"""What is written, to every index of a space, and counted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import batched
from typing import Any

from opensearchpy.exceptions import RequestError

from custody.adapters.opensearch_index import answers, mapping, names, queries
from custody.adapters.opensearch_index.crowds import Crowds, likeness
from custody.adapters.opensearch_index.node import Listed, Node
from custody.adapters.opensearch_index.reaching import IndexGone, reaching
from custody.domain.index.candidates import IndexEntry, Space, Vector
from custody.domain.index.generations import FIRST
from custody.domain.index.rules import checked_vectors, model_mismatch
from custody.domain.model import Acl, DocumentKey
from custody.errors import IntegrityError

_BULK_CHUNKS = 100
_CONFLICT_ATTEMPTS = 8
_SET_ACL = (
    "if (ctx._source.acl.equals(params.acl)) { ctx.op = 'noop' }"
    " else { ctx._source.acl = params.acl }"
)


class Writing(Node):
    """``WritableIndex``."""

    def ensure(self, space: Space, *, model_revision: str, dimensions: int) -> None:
        found = self._list(space)
        if not found:
            self._check_absence(space)
            self._make(space, FIRST, model_revision, dimensions, served=True)
            found = self._list(space)
        if not found:
            raise answers.unavailable("an index that was just made is not there")
        for index in _of_revision(found, model_revision):
            if index.meta.get("dimensions") != dimensions:
                raise model_mismatch(index.model_revision, model_revision)

    def revisions(self, space: Space) -> frozenset[str]:
        return frozenset(index.model_revision for index in self._list(space))

    def put(self, space: Space, entries: Sequence[IndexEntry]) -> None:
        if not entries:
            return
        revision = entries[0].model_revision

        def write(found: list[Listed]) -> bool:
            indices = _of_revision(found, revision)
            vectors = _checked(space, indices, entries)
            for index in indices:
                self._write(
                    index.name, entries, vectors, self._write_timeout_s, exact=space.history
                )
            return True

        if not self._on_every(space, write, none=False):
            raise answers.unavailable("the space was never made")

    def refresh(self, spaces: Collection[Space]) -> None:
        for space in set(spaces):
            self._on_every(
                space, lambda found: self._refresh(_names(found), self._write_timeout_s), none=None
            )

    def count(
        self,
        space: Space,
        key: DocumentKey,
        version: int | None = None,
        *,
        model_revision: str | None = None,
    ) -> int:
        query = queries.document_query(key, version=version)
        aliases = (
            sorted(self._served(space))
            if model_revision is None
            else [self._alias(space, model_revision)]
        )
        if not aliases:
            self._shards_of(space)
        try:
            found = min((self._count([alias], query) for alias in aliases), default=None)
        except IndexGone:
            found = None
        if found is None:
            self._check_cluster()
        return found or 0

    def left(self, space: Space, key: DocumentKey, version: int | None = None) -> int:
        query = queries.document_query(key, version=version)
        return self._on_every(space, lambda found: self._count(_names(found), query), none=0)

    def set_acl(self, space: Space, key: DocumentKey, version: int | None, acl: Acl) -> None:
        script = {"source": _SET_ACL, "lang": "painless", "params": {"acl": list(acl.allow)}}
        body = {"query": queries.document_query(key, version=version), "script": script}
        self._sweep(space, self._client.update_by_query, body)

    def delete(
        self,
        space: Space,
        key: DocumentKey,
        *,
        version: int | None = None,
        through: int | None = None,
    ) -> None:
        body = {"query": queries.document_query(key, version=version, through=through)}
        self._sweep(space, self._client.delete_by_query, body)

    def _make(
        self, space: Space, generation: str, model_revision: str, dimensions: int, *, served: bool
    ) -> str:
        alias = self._alias(space, model_revision)
        name = names.index_of(alias, generation)
        body = mapping.index_body(
            [names.own_alias(name), *([alias] if served else ())],
            model_revision=model_revision,
            dimensions=dimensions,
            shards=self._shards,
            replicas=self._replicas,
            exact=space.history,
        )
        with reaching():
            try:
                self._client.indices.create(
                    index=name, body=body, request_timeout=self._write_timeout_s
                )
            except RequestError as fault:
                # Another process was faster: what it made is checked like any other.
                if fault.error != "resource_already_exists_exception":
                    raise
        return name

    def _write(
        self,
        index: str,
        entries: Sequence[IndexEntry],
        vectors: Sequence[Vector],
        timeout_s: float,
        *,
        exact: bool,
    ) -> None:
        alias = names.own_alias(index)
        crowds = Crowds()
        for batch in batched(zip(entries, vectors, strict=True), _BULK_CHUNKS):
            placed = [mapping.Placed(entry, vector, None, False) for entry, vector in batch]
            if not exact:
                placed = self._placed(alias, placed, crowds, timeout_s)
            with reaching():
                response = self._client.bulk(
                    body=mapping.bulk_lines(alias, placed),
                    params={"require_alias": "true", "timeout": f"{round(timeout_s * 1000)}ms"},
                    request_timeout=timeout_s,
                )
            if answers.bulk_found_no_index(response):
                raise IndexGone()
            answers.check_bulk(response, len(batch))

    def _placed(
        self, alias: str, batch: Sequence[mapping.Placed], crowds: Crowds, timeout_s: float
    ) -> list[mapping.Placed]:
        likenesses = [likeness(one.vector) for one in batch]
        unknown = crowds.unknown(likenesses)
        if unknown:
            body = queries.likeness_counts(
                unknown, [one.entry.chunk_id for one in batch], timeout=self._search_timeout
            )
            with reaching():
                answer = self._client.search(
                    index=alias,
                    body=body,
                    params={"allow_partial_search_results": "false"},
                    request_timeout=timeout_s,
                )
            crowds.learn(unknown, answers.buckets(answers.whole(answer), mapping.LIKENESS))
        return [
            one._replace(likeness=like) if crowds.admits(like) else one._replace(crowded=True)
            for one, like in zip(batch, likenesses, strict=True)
        ]

    def _refresh(self, indices: Sequence[str], timeout_s: float) -> None:
        with reaching():
            response = self._client.indices.refresh(index=list(indices), request_timeout=timeout_s)
        shards = response.get("_shards") if isinstance(response, dict) else None
        if not shards or shards["failed"]:
            raise answers.unavailable("a refresh failed")

    def _count(self, indices: Sequence[str], query: queries.Clause) -> int:
        body = {
            "size": 0,
            "track_total_hits": True,
            "query": query,
            "timeout": self._search_timeout,
        }
        with reaching():
            answer = self._client.search(
                index=list(indices), body=body, params={"allow_partial_search_results": "false"}
            )
        return answers.total(answers.whole(answer))

    def _sweep(self, space: Space, call: Callable[..., Any], body: dict[str, Any]) -> None:
        self._on_every(
            space, lambda found: self._until_no_conflict(call, _names(found), body), none=None
        )

    def _until_no_conflict(
        self, call: Callable[..., Any], indices: Sequence[str], body: dict[str, Any]
    ) -> None:
        """Update or delete by query until no concurrent write got in between. The refresh before
        it lets it see chunks that were put and never refreshed."""
        for _ in range(_CONFLICT_ATTEMPTS):
            self._refresh(indices, self._sweep_timeout_s)
            with reaching():
                response = call(
                    index=list(indices),
                    body=body,
                    params={"conflicts": "proceed", "refresh": "true"},
                    request_timeout=self._sweep_timeout_s,
                )
            if answers.by_query_conflicts(response) == 0:
                return
        raise answers.unavailable("concurrent writes kept getting in between")


def _names(found: Sequence[Listed]) -> list[str]:
    return [index.name for index in found]


def _of_revision(found: Sequence[Listed], model_revision: str) -> list[Listed]:
    """Those that entries of the revision belong in, one at least."""
    mine = [index for index in found if index.model_revision == model_revision]
    if not mine:
        raise model_mismatch(found[0].model_revision, model_revision)
    for index in mine:
        if not mapping.is_writable(index.meta):
            raise IntegrityError(
                "An index was made with another mapping or analysis: it must be rebuilt.",
                code="index-mapping-mismatch",
            )
    return mine


def _checked(
    space: Space, indices: Sequence[Listed], entries: Sequence[IndexEntry]
) -> list[Vector]:
    """Before anything is written. Indices of one revision hold vectors of one size."""
    first = indices[0]
    return checked_vectors(
        space,
        entries,
        model_revision=first.model_revision,
        dimensions=first.meta["dimensions"],
    )
