"""The HTTP calls that the index makes are those that the roles of the functions grant, no more.

No emulator holds anybody to the paths of a domain: what is granted is compared with what is called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from opensearchpy import Connection, OpenSearch

from custody.adapters.opensearch_index import OpenSearchIndex
from custody.adapters.opensearch_index.mapping import meta_of
from custody.adapters.opensearch_index.names import alias_of, index_of
from custody.domain.index.candidates import Space
from custody.domain.model import Acl, DocumentKey
from custody.errors import CustodyError
from tests.architecture.roles import ROLES
from tests.support.evidence import DIMENSIONS, MODEL, entry, query, unit

ACME = Space("acme")
DOC = DocumentKey("acme", "guide")
ALL = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
FOUND = {
    "timed_out": False,
    "_shards": ALL,
    "hits": {"total": {"value": 0, "relation": "eq"}, "hits": []},
    "aggregations": {"likeness": {"buckets": []}},
}
ABSENT = {"error": {"type": "index_not_found_exception"}, "status": 404}
META = {"stack-i": {"mappings": {"_meta": meta_of(MODEL, DIMENSIONS)}}}
NONE = {**FOUND, "_shards": {**ALL, "total": 0, "successful": 0}}
SWEPT = {"timed_out": False, "version_conflicts": 0, "failures": []}
ANSWERS: dict[str, Any] = {
    "": {"cluster_uuid": "ours"},
    "_msearch": {"responses": [FOUND, FOUND, FOUND]},
    "_search": FOUND,
    "_mapping": META,
    "_alias": {"stack-i": {"aliases": {alias_of("stack", ACME, MODEL): {}}}},
    "_bulk": {"items": [{"index": {"status": 200}}]},
    "_refresh": {"_shards": ALL},
    "_update_by_query": SWEPT,
    "_delete_by_query": SWEPT,
}


class Recorded(Connection):
    """Answers from ``answers``, by the last part of the path, and keeps each call."""

    calls: list[tuple[str, str]]
    answers: dict[str, Any]

    def perform_request(self, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        path = url.partition("?")[0].lstrip("/")
        self.calls.append((method, path))
        answer = self.answers.get(path.rpartition("/")[2], {"acknowledged": True})
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        return 200, {}, json.dumps(answer)


def calls_of(act: Callable[[OpenSearchIndex], object], **answers: Any) -> set[tuple[str, str]]:
    calls: list[tuple[str, str]] = []
    kind = type("One", (Recorded,), {"calls": calls, "answers": {**ANSWERS, **answers}})
    client = OpenSearch("http://127.0.0.1:1", connection_class=kind)
    act(OpenSearchIndex(client, "stack", cluster_uuid="ours"))
    return set(calls)


def _search(index: OpenSearchIndex) -> object:
    return index.search(query(ACME, text="a question", vector=unit(0)))


def _refused(index: OpenSearchIndex) -> None:
    """The node refuses the vector, or has indices of another model alone: it is asked why."""
    with pytest.raises(CustodyError):
        _search(index)


def _count(index: OpenSearchIndex) -> object:
    return index.count(ACME, DOC)


def _publish(index: OpenSearchIndex) -> None:
    index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
    index.put(ACME, [entry("guide")])
    index.refresh([ACME])
    index.count(ACME, DOC, model_revision=MODEL)
    index.revisions(ACME)
    index.set_acl(ACME, DOC, 1, Acl.of("everyone"))


def _sweep(index: OpenSearchIndex) -> None:
    index.delete(ACME, DOC)
    index.refresh([ACME])
    index.left(ACME, DOC)


def _expire(index: OpenSearchIndex) -> None:
    index.delete(ACME, DOC, version=1)
    index.refresh([ACME])
    index.left(ACME, DOC, 1)


REFUSED = {"responses": [{"status": 400, "error": {"type": "x"}}, FOUND, FOUND]}
NOTHING = {"responses": [ABSENT, ABSENT, NONE]}
OTHERS = {"responses": [ABSENT, ABSENT, FOUND]}


def _searches() -> set[tuple[str, str]]:
    return (
        calls_of(_search)
        | calls_of(_search, _msearch=NOTHING)
        | calls_of(_refused, _msearch=REFUSED)
        | calls_of(_refused, _msearch=OTHERS, _alias={})
    )


def _counts() -> set[tuple[str, str]]:
    return calls_of(_count) | calls_of(_count, _alias={}, _search=NONE)


def _publishes() -> set[tuple[str, str]]:
    """And what it moves into the history."""
    made = calls_of(_publish, _mapping=[{}, META], _search=[NONE, FOUND])
    return calls_of(_publish) | made | calls_of(_sweep)


def _sweeps() -> set[tuple[str, str]]:
    return calls_of(_sweep) | calls_of(_sweep, _mapping={}, _search=NONE)


def _expires() -> set[tuple[str, str]]:
    return calls_of(_expire) | calls_of(_expire, _mapping={}, _search=NONE)


def _rebuild(index: OpenSearchIndex) -> None:
    made = index.create(ACME, generation="live-1", model_revision=MODEL, dimensions=DIMENSIONS)
    index.put_into(ACME, made.name, [entry("guide")])
    index.take_from(ACME, made.name, DOC, 1)
    index.counts_in(ACME, made.name, [DOC])
    index.serve(ACME, made.name)
    index.drop(ACME, made.name, served=True)


def _rebuilds() -> set[tuple[str, str]]:
    name = index_of(alias_of("stack", ACME, MODEL), "live-1")
    listed = {name: META["stack-i"]}
    counted = {
        **FOUND,
        "aggregations": {"versions": {"buckets": []}, "likeness": {"buckets": []}},
    }
    return calls_of(
        _rebuild, _mapping=listed, _alias={name: {"aliases": {}}}, _search=counted
    ) | calls_of(lambda index: index.drop(ACME, name), _mapping={}, _alias={}, _search=NONE)


CALLED: dict[str, Callable[[], set[tuple[str, str]]]] = {
    "query": _searches,
    "gate": _searches,
    "documents": _counts,
    "accept": _counts,
    "health": lambda: calls_of(lambda index: index.ping()),
    "publish": _publishes,
    "propagate": _sweeps,
    "expire": _expires,
    "rebuild": _rebuilds,
}
METHODS = {
    "es:ESHttpGet": "GET",
    "es:ESHttpPost": "POST",
    "es:ESHttpPut": "PUT",
    "es:ESHttpHead": "HEAD",
    "es:ESHttpDelete": "DELETE",
}


def granted(function: str) -> set[tuple[str, str]]:
    """(method, path with wildcards)."""
    return {
        (METHODS[action], name.removeprefix("domain/").replace("<stack>", "stack"))
        for action, names in ROLES[function].items()
        if action.startswith("es:")
        for name in names
    }


def allows(grant: tuple[str, str], call: tuple[str, str]) -> bool:
    pattern = re.escape(grant[1]).replace(r"\*", ".*")
    return grant[0] == call[0] and re.fullmatch(pattern, call[1]) is not None


def test_only_functions_that_call_the_index_have_rights_to_it() -> None:
    assert {function for function in ROLES if granted(function)} == set(CALLED)


@pytest.mark.parametrize("function", CALLED)
def test_each_call_is_granted_and_each_grant_is_used(function: str) -> None:
    calls, grants = CALLED[function](), granted(function)
    assert [c for c in calls if not any(allows(grant, c) for grant in grants)] == []
    assert [g for g in grants if not any(allows(g, call) for call in calls)] == []
