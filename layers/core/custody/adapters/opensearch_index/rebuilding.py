"""One index among those of a space: made, filled, counted, served, dropped."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from custody.adapters.opensearch_index import answers, queries
from custody.adapters.opensearch_index.node import Listed
from custody.adapters.opensearch_index.reaching import IndexGone, reaching
from custody.adapters.opensearch_index.writing import Writing
from custody.domain.index.candidates import IndexEntry, Space
from custody.domain.index.generations import Generation
from custody.domain.index.rules import checked_vectors, still_served
from custody.domain.model import DocumentKey


class Rebuilding(Writing):
    """``RebuildableIndex``."""

    def generations(self, space: Space) -> tuple[Generation, ...]:
        served = set(self._served(space).values())
        return tuple(_told(index, served) for index in self._list(space))

    def create(
        self, space: Space, *, generation: str, model_revision: str, dimensions: int
    ) -> Generation:
        name = self._make(space, generation, model_revision, dimensions, served=False)
        return next(found for found in self.generations(space) if found.name == name)

    def put_into(self, space: Space, name: str, entries: Sequence[IndexEntry]) -> None:
        if not entries:
            return
        meta = self._named(space, name).meta
        vectors = checked_vectors(
            space, entries, model_revision=meta["model_revision"], dimensions=meta["dimensions"]
        )
        self._write(name, entries, vectors, self._piece_timeout_s, exact=space.history)

    def take_from(self, space: Space, name: str, key: DocumentKey, version: int) -> None:
        self._named(space, name)
        body = {"query": queries.document_query(key, version=version)}
        self._until_no_conflict(self._client.delete_by_query, [name], body)

    def counts_in(
        self, space: Space, name: str, keys: Collection[DocumentKey]
    ) -> dict[tuple[DocumentKey, int], int]:
        self._named(space, name)
        self._refresh([name], self._write_timeout_s)
        counted: dict[tuple[DocumentKey, int], int] = {}
        after: dict[str, Any] | None = None
        while True:
            body = queries.version_counts(keys, after=after, timeout=self._search_timeout)
            with reaching():
                answer = self._client.search(
                    index=name, body=body, params={"allow_partial_search_results": "false"}
                )
            page, after = answers.version_counts(answers.whole(answer))
            counted |= {
                (DocumentKey(space.tenant, document), version): count
                for document, version, count in page
            }
            if after is None:
                return counted

    def serve(self, space: Space, name: str) -> None:
        alias = self._alias(space, self._named(space, name).model_revision)
        former = self._served(space).get(alias)
        if former == name:
            return
        actions: list[dict[str, Any]] = [{"add": {"index": name, "alias": alias}}]
        if former is not None:
            actions.append({"remove": {"index": former, "alias": alias}})
        with reaching():
            self._client.indices.update_aliases(
                body={"actions": actions}, request_timeout=self._write_timeout_s
            )

    def drop(self, space: Space, name: str, *, served: bool = False) -> None:
        if name in self._served(space).values() and not served:
            raise still_served()
        found = self._list(space)
        if not found:
            self._check_absence(space)
        if name not in [index.name for index in found]:
            return
        with suppress(IndexGone), reaching():
            self._client.indices.delete(index=name, request_timeout=self._write_timeout_s)

    def _named(self, space: Space, name: str) -> Listed:
        """Raises IndexGone."""
        for index in self._list(space):
            if index.name == name:
                return index
        raise IndexGone()


def _told(index: Listed, served: Collection[str]) -> Generation:
    return Generation(
        name=index.name,
        model_revision=index.model_revision,
        dimensions=index.meta["dimensions"],
        mapping_version=str(index.meta["mapping_version"]),
        analysis_version=str(index.meta["analysis_version"]),
        served=index.name in served,
    )
