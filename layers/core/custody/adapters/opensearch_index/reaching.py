"""The way to the node: whatever goes wrong there is Unavailable, but for an index that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opensearchpy.exceptions import (
    ImproperlyConfigured,
    NotFoundError,
    OpenSearchException,
    TransportError,
)

from custody.adapters.opensearch_index import answers
from custody.errors import Unavailable

_NO_INDEX = (
    "index_not_found_exception",
    "alias_not_found_exception",
    "aliases_not_found_exception",
)

_SERVICE_UNAVAILABLE = 503
_NO_SHARD = "search_phase_execution_exception"


class IndexGone(Unavailable):
    """OpenSearch's own word that an index or an alias is not there."""

    def __init__(self) -> None:
        gone = answers.unavailable("an index is gone")
        super().__init__(gone.detail, code=gone.code)


class NotReady(Unavailable):
    """Some shard is on no node: not yet, not any more, or lost."""

    def __init__(self) -> None:
        lost = answers.unavailable("a shard is missing")
        super().__init__(lost.detail, code=lost.code)


@contextmanager
def reaching() -> Iterator[None]:
    """Raises IndexGone, NotReady, or Unavailable for every fault of the way and every refusal."""
    try:
        yield
    except NotFoundError as fault:
        if fault.error in _NO_INDEX:
            raise IndexGone() from fault
        raise answers.unavailable(f"HTTP status {fault.status_code}") from fault
    except TransportError as fault:
        if fault.status_code == _SERVICE_UNAVAILABLE and fault.error == _NO_SHARD:
            raise NotReady() from fault
        raise answers.unavailable(f"HTTP status {fault.status_code}") from fault
    except (OpenSearchException, ImproperlyConfigured) as fault:
        raise answers.unavailable(type(fault).__name__) from fault
