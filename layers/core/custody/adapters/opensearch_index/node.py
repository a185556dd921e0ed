"""What all that is asked of the node shares: where it is, and which indices a space has there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from opensearchpy import OpenSearch

from custody.adapters.opensearch_index import answers, mapping, names
from custody.adapters.opensearch_index.reaching import IndexGone, NotReady, reaching
from custody.domain.index.candidates import Space

PIECE_TIMEOUT_S = 20.0
"""With the client's one repeat it is over before a builder's lease can be."""

_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)


class Listed(NamedTuple):
    """One index of a space, and what it says of itself."""

    name: str
    meta: Mapping[str, Any]

    @property
    def model_revision(self) -> str:
        return str(self.meta.get("model_revision"))


class Node:
    """See ``OpenSearchIndex`` for the arguments. Times in seconds."""

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
        piece_timeout_s: float = PIECE_TIMEOUT_S,
        cluster_uuid: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._shards = shards
        self._replicas = replicas
        self._search_timeout = f"{round(search_timeout_s * 1000)}ms"
        self._write_timeout_s = write_timeout_s
        self._sweep_timeout_s = sweep_timeout_s
        self._piece_timeout_s = piece_timeout_s
        self._cluster_uuid = cluster_uuid
        self._sleep = sleep

    def ping(self) -> None:
        with reaching():
            info = self._client.info()
        if not isinstance(info, dict) or "cluster_uuid" not in info:
            raise answers.unavailable("what answers is no OpenSearch")
        if self._cluster_uuid not in (None, info["cluster_uuid"]):
            raise answers.unavailable("another cluster answers")

    def _alias(self, space: Space, model_revision: str) -> str:
        return names.alias_of(self._prefix, space, model_revision)

    def _every(self, space: Space) -> str:
        return names.every_index(self._prefix, space)

    def _check_cluster(self) -> None:
        """No space exists here: make sure that this is the cluster where they would."""
        if self._cluster_uuid is not None:
            self.ping()

    def _list(self, space: Space) -> list[Listed]:
        """Every index of the space, by name."""
        with reaching():
            try:
                response = self._client.indices.get_mapping(
                    index=self._every(space), params={"expand_wildcards": "open,closed"}
                )
            except IndexGone:
                return []
        try:
            found = [Listed(name, mapping.meta_in(index)) for name, index in response.items()]
        except (KeyError, TypeError, AttributeError) as fault:
            raise answers.unavailable("a mapping can't be read") from fault
        if not all(index.meta for index in found):
            raise answers.unavailable("an index of that name is not Custody's")
        return sorted(found)

    def _served(self, space: Space) -> Mapping[str, str]:
        """The index that each alias of the space stands for."""
        with reaching():
            response = self._client.indices.get_alias(
                index=self._every(space), params={"expand_wildcards": "open,closed"}
            )
        try:
            return {
                alias: index
                for index, found in response.items()
                for alias in found["aliases"]
                if names.is_alias(self._prefix, space, alias)
            }
        except (KeyError, TypeError, AttributeError) as fault:
            raise answers.unavailable("its aliases can't be read") from fault

    def _check_absence(self, space: Space) -> None:
        if self._shards_of(space):
            raise answers.unavailable("an index that was not there is there")
        self._check_cluster()

    def _shards_of(self, space: Space) -> int:
        """A cluster that has yet to recover its state says of every index that there is none, except
        to a search: that it refuses."""
        with reaching():
            answer = self._client.search(index=self._every(space), body={"size": 0})
        total: int = answers.whole(answer)["_shards"]["total"]
        return total

    def _on_every[T](self, space: Space, act: Callable[[list[Listed]], T], *, none: T) -> T:
        """``act`` on all indices of the space, ``none`` where there are none. One that was dropped
        meanwhile is no error: they are listed again. Of several, one may just be made or dropped,
        and has no shard for a moment."""
        for pause in _PAUSES:
            found = self._list(space)
            if not found:
                self._check_absence(space)
                return none
            try:
                return act(found)
            except IndexGone:
                continue
            except NotReady:
                if len(found) == 1:
                    raise
                self._sleep(pause)
        raise answers.unavailable("its indices keep changing")
