"""What is OpenSearch's own: its faults. None of them passes for an answer.

Faults that a sound node can't be brought to show come from a small server that answers as one
would."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import batched, chain, repeat
from typing import Any

import pytest

from custody.adapters.opensearch_index import OpenSearchIndex, connect
from custody.adapters.opensearch_index.crowds import IN_GRAPH
from custody.adapters.opensearch_index.mapping import CROWDED, meta_of
from custody.adapters.opensearch_index.names import alias_of
from custody.adapters.opensearch_index.node import PIECE_TIMEOUT_S
from custody.application.indexing.pace import BuildPace
from custody.application.ports import EvidenceIndex
from custody.bootstrap.environment import EnvironmentPorts
from custody.domain.index.candidates import LegHits, Space
from custody.domain.index.document import encode
from custody.domain.model import Acl, DocumentKey, Leg
from custody.errors import ConfigurationError, CustodyError, IntegrityError, Unavailable
from custody.settings import Environment
from tests.support.evidence import (
    DIMENSIONS,
    MODEL,
    entry,
    fill,
    lexical,
    query,
    semantic,
    unit,
    wanted,
)

ACME = Space("acme")
DOC = DocumentKey("acme", "doc")
BOTH = query(ACME, text="fox", vector=unit(1))

type Answer = tuple[int, Any] | Callable[[], tuple[int, Any]]


class FakeNode:
    """Answers every path with what ``answers`` holds for its last part, and counts requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {
            "_mapping": (200, {"i": {"mappings": {"_meta": meta_of(MODEL, DIMENSIONS)}}}),
            "_alias": (200, {"i": {"aliases": {alias_of("fake", ACME, MODEL): {}}}}),
            "_refresh": (200, {"_shards": {"total": 1, "successful": 1, "failed": 0}}),
            "_search": (200, leg(aggregations={"likeness": {"buckets": []}})),
        }
        self.requests: list[str] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        node = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                with suppress(ConnectionError):  # the client gave up, as it should
                    super().handle()

            def _answer(self) -> None:
                asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                node.bodies.append(asked)
                last = self.path.split("?")[0].rsplit("/", 1)[-1]
                node.requests.append(last)
                node.headers.append(dict(self.headers))
                answer = node.answers[last]
                status, body = answer() if callable(answer) else answer
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_PUT = do_HEAD = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def node() -> Iterator[FakeNode]:
    fake = FakeNode()
    yield fake
    fake.stop()


@pytest.fixture
def faulty(node: FakeNode) -> Iterator[OpenSearchIndex]:
    client = connect(node.url, timeout_s=1.0, retries=1)
    yield OpenSearchIndex(client, "fake")
    client.close()


def leg(**changes: Any) -> dict[str, Any]:
    whole = {
        "took": 1,
        "timed_out": False,
        "_shards": {"total": 2, "successful": 2, "skipped": 0, "failed": 0},
        "hits": {"hits": []},
        "status": 200,
    }
    return {**whole, **changes}


def answer(*parts: Any) -> dict[str, Any]:
    """Of a search of ``BOTH``: both legs, and whether the space has any index."""
    return {"responses": [*parts, leg()]}


def refused(call: Callable[[], object]) -> CustodyError:
    with pytest.raises(Unavailable) as fault:
        call()
    assert fault.value.code == "index-unavailable"
    assert "fake" not in fault.value.detail
    return fault.value


ABSENT = {"error": {"type": "index_not_found_exception"}, "status": 404}
NO_SHARDS = {"total": 0, "successful": 0, "skipped": 0, "failed": 0}
PARTIAL = {"total": 2, "successful": 1, "skipped": 0, "failed": 1}
BROKEN_SEARCHES: dict[str, Any] = {
    "a failed shard": answer(leg(), leg(_shards=PARTIAL)),
    "a silent shard": answer(leg(), leg(_shards={**PARTIAL, "failed": 0})),
    "out of time": answer(leg(timed_out=True), leg()),
    "one leg failed": answer(
        leg(), {"error": {"type": "search_phase_execution_exception"}, "status": 503}
    ),
    "one leg throttled": answer(leg(), {"error": {"type": "rejected_execution"}, "status": 429}),
    "one leg missing": answer(leg()),
    "no legs": {"took": 3},
    "a list": [],
    "null": None,
    "half an answer": answer(leg(), {"status": 200}),
    "unsorted hits": answer(leg(hits={"hits": [{"_source": {}}]}), leg()),
    "no JSON": b"<html>Bad gateway</html>",
    "nothing": b"",
}


@pytest.mark.parametrize("kind", BROKEN_SEARCHES)
def test_half_an_answer_is_no_answer(node: FakeNode, faulty: OpenSearchIndex, kind: str) -> None:
    node.answers["_msearch"] = (200, BROKEN_SEARCHES[kind])
    refused(lambda: faulty.search(BOTH))


GOOD = encode(entry("a"))
NO_ENTRIES: dict[str, Any] = {
    "nothing of it": {},
    "null": None,
    "a list": [GOOD],
    "a time beyond the calendar": {**GOOD, "valid_to": 1 << 60},
    "no proof": {key: value for key, value in GOOD.items() if key != "proof"},
    "a null text": {**GOOD, "text": None},
    "a version in words": {**GOOD, "version": "1"},
    "a version that is true": {**GOOD, "version": True},
    "an ACL in one text": {**GOOD, "acl": "everyone"},
    "a proof of numbers": {**GOOD, "proof": [1]},
    "metadata in metadata": {**GOOD, "metadata": {"a": {"b": 1}}},
    "a list of numbers in metadata": {**GOOD, "metadata": {"a": [1]}},
}


@pytest.mark.parametrize("kind", NO_ENTRIES)
def test_a_hit_that_is_no_entry_is_left_out_and_counted(
    node: FakeNode, faulty: OpenSearchIndex, kind: str
) -> None:
    odd = {"_id": GOOD["chunk_id"], "_source": NO_ENTRIES[kind], "sort": [1.0, "x"]}
    good = {"_id": GOOD["chunk_id"], "_source": GOOD, "sort": [0.9, "y"]}
    node.answers["_msearch"] = (200, answer(leg(hits={"hits": [odd, good]}), leg()))
    found = faulty.search(BOTH)
    assert [hit.entry.key for legs in found.legs.values() for hit in legs] == [entry("a").key]
    assert sum(found.unreadable.values()) == 1


@pytest.mark.parametrize("score", ["NaN", "Infinity"])
def test_a_hit_whose_score_is_no_number_is_left_out_and_counted(
    node: FakeNode, faulty: OpenSearchIndex, score: object
) -> None:
    hit = {"_id": GOOD["chunk_id"], "_source": GOOD, "sort": [score, "x"]}
    node.answers["_msearch"] = (200, answer(leg(hits={"hits": [hit]}), leg()))
    found = faulty.search(BOTH)
    assert (found.legs, sum(found.unreadable.values())) == ({}, 1)


def test_a_whole_answer_of_the_same_form_is_one(node: FakeNode, faulty: OpenSearchIndex) -> None:
    node.answers["_msearch"] = (200, answer(leg(), leg()))
    assert faulty.search(BOTH) == LegHits()
    assert node.requests == ["_msearch"]  # both legs in one round trip


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("https://search.example", True),
        ("http://127.0.0.1:9200", True),
        ("http://localhost:9200", True),
        ("http://[::1]:9200", True),
        ("http://host.docker.internal:9200", True),
        ("http://search.example", False),
        ("http://localhost.search.example", False),
        ("http://localhost@search.example", False),
        ("http://10.0.0.1:9200", False),
        ("ftp://localhost", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_questions_and_evidence_go_nowhere_in_the_open(address: str, good: bool) -> None:
    if good:
        connect(address).close()
        return
    with pytest.raises(ConfigurationError):
        connect(address)


def test_a_filter_of_many_fields_makes_no_search_more(
    node: FakeNode, faulty: OpenSearchIndex
) -> None:
    fields = {f"f{n}": "x" for n in range(10)}
    asked = query(ACME, text="fox", vector=unit(1), only=wanted(metadata=fields))
    node.answers["_msearch"] = (200, answer(leg(), leg()))
    assert faulty.search(asked) == LegHits()
    assert [body.count(b"\n") for body in node.bodies] == [2 * 3]


def test_half_a_sample_is_no_sample(node: FakeNode, faulty: OpenSearchIndex) -> None:
    node.answers["_msearch"] = (200, {"responses": [leg(), leg(_shards=PARTIAL)]})
    refused(lambda: faulty.sample(BOTH, [wanted(), wanted()], 9))
    node.answers["_msearch"] = (200, {"responses": [leg(), ABSENT]})
    assert faulty.sample(BOTH, [wanted(), wanted()], 9) == ((), ())


def test_an_index_that_is_just_being_made_is_no_fault_of_a_search(
    node: FakeNode, faulty: OpenSearchIndex
) -> None:
    """It has no shard for a moment, and the served one has all of its."""
    unready = {"error": {"type": "search_phase_execution_exception"}, "status": 503}
    node.answers["_msearch"] = (200, {"responses": [leg(), leg(), unready]})
    assert faulty.search(BOTH) == LegHits()
    node.answers["_msearch"] = (200, {"responses": [ABSENT, ABSENT, unready]})
    node.answers["_alias"] = (200, {"i": {"aliases": {}}})
    with pytest.raises(IntegrityError) as fault:
        faulty.search(BOTH)
    assert fault.value.code == "model-revision-mismatch"


def test_an_index_that_is_served_while_a_search_is_under_way_is_asked_again(
    node: FakeNode, faulty: OpenSearchIndex
) -> None:
    found = iter([{"responses": [ABSENT, ABSENT, leg()]}, answer(leg(), leg())])
    node.answers["_msearch"] = lambda: (200, next(found))
    assert faulty.search(BOTH) == LegHits()
    assert node.requests == ["_msearch", "_alias", "_msearch"]


@pytest.mark.parametrize("call", ["refresh", "delete", "set_acl", "left", "put"])
def test_of_several_indices_one_may_be_gone_or_not_be_ready_for_a_moment(
    node: FakeNode, call: str
) -> None:
    pauses: list[float] = []
    client = connect(node.url, timeout_s=1.0, retries=0)
    index = OpenSearchIndex(client, "fake", sleep=pauses.append)
    meta = {"mappings": {"_meta": meta_of(MODEL, DIMENSIONS)}}
    node.answers["_mapping"] = (200, {"i": meta, "j": meta})
    unready = {"error": {"type": "search_phase_execution_exception"}, "status": 503}
    done = {"timed_out": False, "version_conflicts": 0, "failures": []}
    good: dict[str, Any] = {
        "_refresh": node.answers["_refresh"],
        "_search": (
            200,
            leg(
                hits={"hits": [], "total": {"value": 3}},
                aggregations={"likeness": {"buckets": []}},
            ),
        ),
        "_bulk": (200, {"items": [{"index": {"status": 201}}]}),
        "_delete_by_query": (200, done),
        "_update_by_query": (200, done),
    }
    calls: dict[str, tuple[str, Callable[[], object]]] = {
        "refresh": ("_refresh", lambda: index.refresh([ACME])),
        "left": ("_search", lambda: index.left(ACME, DOC)),
        "put": ("_search", lambda: index.put(ACME, [entry("a")])),
        "delete": ("_delete_by_query", lambda: index.delete(ACME, DOC)),
        "set_acl": ("_update_by_query", lambda: index.set_acl(ACME, DOC, 1, Acl.of("x"))),
    }
    path, act = calls[call]
    node.answers |= good
    met = chain([(404, ABSENT), (503, unready)], repeat(good[path]))
    node.answers[path] = lambda: next(met)
    act()
    assert node.requests.count("_mapping") == 3
    assert len(pauses) == 1
    node.answers[path] = (503, unready)
    refused(act)
    node.answers["_mapping"] = (200, {"i": meta})
    node.requests.clear()
    refused(act)  # of one index it is the space's own fault, and told at once
    assert node.requests.count("_mapping") == 1
    client.close()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 502, 503, 504])
def test_an_error_status_is_unavailable_on_every_call(
    node: FakeNode, faulty: OpenSearchIndex, status: int
) -> None:
    error = (status, {"error": {"type": "some_exception", "reason": "why"}, "status": status})
    calls: dict[str, Callable[[], object]] = {
        "_msearch": lambda: faulty.search(BOTH),
        "_search": lambda: faulty.count(ACME, DOC),
        "_bulk": lambda: faulty.put(ACME, [entry()]),
        "_refresh": lambda: faulty.refresh([ACME]),
        "_delete_by_query": lambda: faulty.delete(ACME, DOC),
        "_update_by_query": lambda: faulty.set_acl(ACME, DOC, 1, Acl.of("everyone")),
        "": faulty.ping,
    }
    for path, call in calls.items():
        before = node.answers.get(path)
        node.answers[path] = error
        refused(call)
        if before is not None:
            node.answers[path] = before


def test_a_passing_rejection_is_tried_again(node: FakeNode, faulty: OpenSearchIndex) -> None:
    answers = iter([(429, {}), (200, answer(leg(), leg()))])
    node.answers["_msearch"] = lambda: next(answers)
    assert faulty.search(BOTH) == LegHits()
    assert node.requests == ["_msearch", "_msearch"]


def test_a_time_out_is_unavailable_and_not_tried_again(
    node: FakeNode, faulty: OpenSearchIndex
) -> None:
    released = threading.Event()

    def slow() -> tuple[int, Any]:
        released.wait(10)
        return 200, answer(leg(), leg())

    node.answers["_msearch"] = slow
    start = time.monotonic()
    refused(lambda: faulty.search(BOTH))
    assert time.monotonic() - start < 5
    released.set()
    assert node.requests == ["_msearch"]


def test_a_write_under_a_lease_is_given_up_before_the_lease_is_over(node: FakeNode) -> None:
    index = OpenSearchIndex(connect(node.url, timeout_s=60.0), "fake", piece_timeout_s=0.5)
    released = threading.Event()

    def slow() -> tuple[int, Any]:
        released.wait(20)
        return 200, {"items": [{"index": {"status": 201}}]}

    node.answers["_bulk"] = slow
    start = time.monotonic()
    refused(lambda: index.put_into(ACME, "i", [entry("doc", vector=unit(1))]))
    assert time.monotonic() - start < 10
    released.set()
    assert BuildPace().margin.total_seconds() > 2 * PIECE_TIMEOUT_S


@pytest.mark.parametrize("stuck", ["_refresh", "_delete_by_query", "_update_by_query"])
def test_a_node_that_keeps_trying_a_change_is_left_in_time_for_other_work(
    node: FakeNode, stuck: str
) -> None:
    """With a full disk it tries a delete by query for a minute and then tells of 429."""
    client = connect(node.url, timeout_s=60.0)
    index = OpenSearchIndex(client, "fake", sweep_timeout_s=0.5)
    released = threading.Event()

    def slow() -> tuple[int, Any]:
        released.wait(20)
        return 429, {}

    node.answers[stuck] = slow
    start = time.monotonic()
    if stuck == "_update_by_query":
        refused(lambda: index.set_acl(ACME, DOC, 1, Acl.of("everyone")))
    else:
        refused(lambda: index.delete(ACME, DOC))
    assert time.monotonic() - start < 10
    released.set()
    assert node.requests.count(stuck) == 1
    client.close()


def test_a_refused_connection_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        client = connect(f"http://127.0.0.1:{taken.getsockname()[1]}", timeout_s=1.0)
        index = OpenSearchIndex(client, "fake")
        calls: list[Callable[[], object]] = [
            lambda: index.search(BOTH),
            lambda: index.count(ACME, DOC),
            lambda: index.put(ACME, [entry()]),
            lambda: index.delete(ACME, DOC),
            lambda: index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS),
            index.ping,
        ]
        for call in calls:
            refused(call)
        client.close()


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([{"index": {"status": 429, "error": {"type": "rejected"}}}], "index-unavailable"),
        ([{"index": {"status": 403, "error": {"type": "cluster_block"}}}], "index-unavailable"),
        ([{"index": {"status": 503, "error": {"type": "unavailable"}}}], "index-unavailable"),
        ([{"index": {"status": 404, "error": {"type": "no_index"}}}], "index-unavailable"),
        ([], "index-unavailable"),
        (None, "index-unavailable"),
        (
            [{"index": {"status": 400, "error": {"type": "strict_dynamic_mapping_exception"}}}],
            "index-entry-refused",
        ),
    ],
)
def test_one_refused_chunk_fails_the_whole_put(
    node: FakeNode, faulty: OpenSearchIndex, items: list[Any] | None, code: str
) -> None:
    good = [{"index": {"status": 201}}]
    node.answers["_bulk"] = (200, {"items": None if items is None else good + items})
    with pytest.raises((Unavailable, IntegrityError)) as fault:
        faulty.put(ACME, [entry("a"), entry("b")])
    assert fault.value.code == code


@pytest.mark.parametrize(
    "answer",
    [
        {"timed_out": True, "version_conflicts": 0, "failures": []},
        {"timed_out": False, "version_conflicts": 0, "failures": [{"status": 503}]},
        {"timed_out": False, "version_conflicts": 1, "failures": []},
        {},
    ],
    ids=["out of time", "failures", "conflicts without end", "empty"],
)
def test_half_a_deletion_is_no_success(
    node: FakeNode, faulty: OpenSearchIndex, answer: dict[str, Any]
) -> None:
    node.answers["_delete_by_query"] = (200, answer)
    refused(lambda: faulty.delete(ACME, DOC))


def test_a_deletion_that_a_write_got_into_is_done_again(
    node: FakeNode, faulty: OpenSearchIndex
) -> None:
    done = {"timed_out": False, "version_conflicts": 0, "failures": []}
    answers = iter([(200, {**done, "version_conflicts": 2}), (200, done)])
    node.answers["_delete_by_query"] = lambda: next(answers)
    faulty.delete(ACME, DOC)
    assert node.requests == ["_mapping", *["_refresh", "_delete_by_query"] * 2]


def test_a_count_of_some_shards_is_no_count(node: FakeNode, faulty: OpenSearchIndex) -> None:
    node.answers["_search"] = (200, leg(_shards=PARTIAL, hits={"total": {"value": 3}}))
    refused(lambda: faulty.count(ACME, DOC))


def test_a_mapping_that_is_not_custodys_is_unavailable(
    node: FakeNode, faulty: OpenSearchIndex
) -> None:
    mappings: tuple[object, ...] = ({"i": {"mappings": {}}}, {"i": {}}, {"i": []})
    for mapping in mappings:
        node.answers["_mapping"] = (200, mapping)
        refused(lambda: faulty.put(ACME, [entry()]))


def test_an_index_of_another_analysis_is_refused(node: FakeNode, faulty: OpenSearchIndex) -> None:
    meta = {**meta_of(MODEL, DIMENSIONS), "analysis_version": "0"}
    node.answers["_mapping"] = (200, {"i": {"mappings": {"_meta": meta}}})
    with pytest.raises(IntegrityError) as fault:
        faulty.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
    assert fault.value.code == "index-mapping-mismatch"


def test_no_space_on_a_foreign_cluster_is_no_empty_result(node: FakeNode) -> None:
    nowhere = leg(_shards=NO_SHARDS)
    node.answers["_msearch"] = (200, {"responses": [ABSENT, ABSENT, nowhere]})
    node.answers[""] = (200, {"cluster_uuid": "theirs", "version": {"number": "2.19.6"}})
    client = connect(node.url, timeout_s=1.0)
    refused(OpenSearchIndex(client, "fake", cluster_uuid="ours").ping)
    refused(lambda: OpenSearchIndex(client, "fake", cluster_uuid="ours").search(BOTH))
    assert OpenSearchIndex(client, "fake", cluster_uuid="theirs").search(BOTH) == LegHits()
    client.close()


def test_a_deployment_names_the_cluster_that_may_answer(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.answers[""] = (200, {"cluster_uuid": "theirs", "version": {"number": "2.19.6"}})
    monkeypatch.setenv("CUSTODY_INDEX", "opensearch")
    monkeypatch.setenv("CUSTODY_INDEX_PREFIX", "fake")
    monkeypatch.setenv("CUSTODY_OPENSEARCH_URL", node.url)

    def deployed(cluster: str) -> EvidenceIndex:
        monkeypatch.setenv("CUSTODY_OPENSEARCH_CLUSTER_UUID", cluster)
        return EnvironmentPorts(Environment()).index

    deployed("").ping()
    deployed("theirs").ping()
    refused(deployed("ours").ping)


WRITES: dict[str, Callable[[OpenSearchIndex], object]] = {
    "delete": lambda index: index.delete(ACME, DOC),
    "set_acl": lambda index: index.set_acl(ACME, DOC, 1, Acl.of("everyone")),
    "refresh": lambda index: index.refresh([ACME]),
}


@pytest.mark.parametrize("call", WRITES)
def test_a_cluster_that_has_not_recovered_its_indices_has_done_nothing(
    node: FakeNode, faulty: OpenSearchIndex, call: str
) -> None:
    """It lists no index, and refuses searches."""
    node.answers["_mapping"] = (200, {})
    node.answers["_search"] = (503, {"error": {"type": "cluster_block_exception"}, "status": 503})
    refused(lambda: WRITES[call](faulty))
    there = {**NO_SHARDS, "total": 1, "successful": 1}
    node.answers["_search"] = (200, leg(_shards=there))  # it recovered in between
    refused(lambda: WRITES[call](faulty))


@pytest.mark.parametrize("call", WRITES)
def test_where_there_never_was_a_space_nothing_is_left_to_do(
    node: FakeNode, faulty: OpenSearchIndex, call: str
) -> None:
    node.answers["_mapping"] = (200, {})
    node.answers["_search"] = (200, leg(_shards=NO_SHARDS))
    WRITES[call](faulty)
    assert node.requests == ["_mapping", "_search"]


@pytest.mark.parametrize("call", [*WRITES, "count"])
def test_a_foreign_cluster_without_the_space_has_done_nothing(node: FakeNode, call: str) -> None:
    node.answers["_mapping"] = node.answers["_alias"] = (200, {})
    node.answers["_search"] = (200, leg(_shards=NO_SHARDS))
    node.answers[""] = (200, {"cluster_uuid": "theirs"})
    calls: dict[str, Callable[[OpenSearchIndex], object]] = {
        **WRITES,
        "count": lambda index: index.count(ACME, DOC),
    }
    client = connect(node.url, timeout_s=1.0)
    refused(lambda: calls[call](OpenSearchIndex(client, "fake", cluster_uuid="ours")))
    calls[call](OpenSearchIndex(client, "fake", cluster_uuid="theirs"))
    client.close()


def test_a_foreign_cluster_gets_no_space(node: FakeNode) -> None:
    """Or all that is published from then on is written there, and found there alone."""
    node.answers["_mapping"] = (200, {})
    node.answers["_search"] = (200, leg(_shards=NO_SHARDS))
    node.answers[""] = (200, {"cluster_uuid": "theirs"})
    client = connect(node.url, timeout_s=1.0)
    index = OpenSearchIndex(client, "fake", cluster_uuid="ours")
    refused(lambda: index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS))
    assert node.requests == ["_mapping", "_search", ""]
    client.close()


def test_requests_to_the_managed_service_are_signed(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-real-one")
    node.answers["_msearch"] = (200, answer(leg(), leg()))
    client = connect(node.url, sigv4_region="eu-central-1", timeout_s=5.0)
    OpenSearchIndex(client, "fake").search(BOTH)
    signature = {name.lower(): value for name, value in node.headers[-1].items()}["authorization"]
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/es/aws4_request" in signature
    client.close()


@pytest.mark.opensearch
class TestOnARealNode:
    def test_index_names_tell_no_tenant(self, opensearch_index: OpenSearchIndex) -> None:
        opensearch_index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
        (made,) = opensearch_index.generations(ACME)
        assert "acme" not in made.name
        spaces = (ACME, Space("acme", "s"), Space("a", "b"), Space("a", "c"))
        assert len({alias_of("custody", space, MODEL) for space in spaces}) == 4
        assert alias_of("custody", ACME, MODEL) != alias_of("custody", ACME, "model-b")

    @pytest.mark.parametrize("equal", [39, 130, 780])
    def test_equal_vectors_hide_nothing_from_each_other_nor_from_who_asks(
        self, opensearch_index: OpenSearchIndex, equal: int
    ) -> None:
        """1,300 entries, of which some share one vector, put as documents come: a few at a time."""
        size, dimensions = 1_300, 64
        same = unit(1, dimensions)
        vectors = [same if n < equal else unit(n + 2, dimensions) for n in range(size)]
        entries = [entry(f"d{n}", text="same words", vector=vectors[n]) for n in range(size)]
        random.Random(5).shuffle(entries)
        opensearch_index.ensure(ACME, model_revision=MODEL, dimensions=dimensions)
        for batch in batched(entries, 20):
            opensearch_index.put(ACME, batch)
            opensearch_index.refresh([ACME])
        for depth in (50, 200):
            for vector in (same, *(unit(n + 9_000, dimensions) for n in range(10))):
                found = opensearch_index.search(query(ACME, vector=vector, depth=depth))
                assert len(found[Leg.SEMANTIC]) == depth
        nearest = opensearch_index.search(query(ACME, vector=same, depth=50))[Leg.SEMANTIC]
        closest = [hit for hit in nearest if hit.score > 1 - 1e-6]
        assert len(closest) == min(50, equal)
        for n in range(equal, equal + 60):
            hits = opensearch_index.search(query(ACME, vector=vectors[n], depth=50))[Leg.SEMANTIC]
            assert hits[0].entry.key.document_id == f"d{n}"
            assert hits[0].score == pytest.approx(1.0, abs=1e-6)

    def test_a_crowded_vector_is_found_filtered_and_deleted_like_any_other(
        self, opensearch_index: OpenSearchIndex
    ) -> None:
        same, away = unit(1), unit([-float(x) for x in unit(1)])
        crowd = [entry(f"d{n}", text="fox", vector=same, acl=[f"user:{n}"]) for n in range(30)]
        fill(opensearch_index, ACME, crowd)
        for n in range(30):
            found = opensearch_index.search(
                query(ACME, vector=same, only=wanted(terms=[f"user:{n}"]))
            )
            assert semantic(found) == [f"d{n}"]
            for vector, cosine in ((same, 1.0), (away, -1.0)):
                found = opensearch_index.search(
                    query(ACME, vector=vector, only=wanted(terms=[f"user:{n}"]))
                )
                assert found[Leg.SEMANTIC][0].score == pytest.approx(cosine, abs=1e-6)
        opensearch_index.set_acl(ACME, DocumentKey("acme", "d29"), 1, Acl.of("user:new"))
        for n in range(29):
            opensearch_index.delete(ACME, DocumentKey("acme", f"d{n}"))
        found = opensearch_index.search(query(ACME, vector=same, only=wanted(terms=["user:new"])))
        assert semantic(found) == ["d29"]
        assert opensearch_index.count(ACME, DocumentKey("acme", "d29")) == 1

    def test_entries_that_are_put_again_do_not_crowd_themselves_out(
        self, opensearch_index: OpenSearchIndex, opensearch_url: str
    ) -> None:
        kept = [entry(f"d{n}", text="fox", vector=unit(1)) for n in range(IN_GRAPH)]
        for _ in range(3):
            fill(opensearch_index, ACME, kept)
        fill(opensearch_index, ACME, [entry("more", text="fox", vector=unit(1))])
        client = connect(opensearch_url, timeout_s=30.0)
        alias = opensearch_index._alias(ACME, MODEL)
        body = {"query": {"exists": {"field": CROWDED}}, "_source": ["document_id"]}
        hits = client.search(index=alias, body=body)["hits"]["hits"]
        assert [hit["_source"]["document_id"] for hit in hits] == ["more"]
        client.close()

    def test_what_a_writer_put_beside_the_entries_is_left_out_and_counted(
        self, opensearch_index: OpenSearchIndex, opensearch_url: str
    ) -> None:
        fill(opensearch_index, ACME, [entry("a", text="fox"), entry("b", text="fox")])
        client = connect(opensearch_url, timeout_s=30.0)
        alias = opensearch_index._alias(ACME, MODEL)
        stored = client.get(index=alias, id=entry("a").chunk_id)["_source"]
        for name, change in (
            (entry("a").chunk_id + "-copy", {}),
            ("null-title-list", {"title": ["a", "b"]}),
            ("null-text", {"text": None}),
            ("no-proof", {"proof": None}),
            ("version-in-words", {"version": "1"}),
        ):
            client.index(
                index=alias, id=name, body={**stored, **change}, params={"refresh": "true"}
            )
        found = opensearch_index.search(BOTH)
        assert set(semantic(found)) == set(lexical(found)) == {"a", "b"}
        assert found.unreadable == {Leg.SEMANTIC: 5, Leg.LEXICAL: 4}  # no text, no words
        client.close()

    def test_an_index_that_refuses_writes_is_unavailable_and_still_searched(
        self, opensearch_index: OpenSearchIndex, opensearch_url: str
    ) -> None:
        fill(opensearch_index, ACME, [entry("a", text="fox")])
        client = connect(opensearch_url, timeout_s=30.0)
        alias = opensearch_index._alias(ACME, MODEL)
        client.indices.put_settings(index=alias, body={"index.blocks.write": True})
        for call in (
            lambda: opensearch_index.put(ACME, [entry("b")]),
            lambda: opensearch_index.delete(ACME, DocumentKey("acme", "a")),
            lambda: opensearch_index.set_acl(ACME, DocumentKey("acme", "a"), 1, Acl.of("user:x")),
        ):
            refused(call)
        assert lexical(opensearch_index.search(query(ACME, text="fox"))) == ["a"]
        client.indices.put_settings(index=alias, body={"index.blocks.write": False})
        client.close()

    def test_a_closed_index_is_unavailable(
        self, opensearch_index: OpenSearchIndex, opensearch_url: str
    ) -> None:
        fill(opensearch_index, ACME, [entry("a", text="fox")])
        client = connect(opensearch_url, timeout_s=30.0)
        client.indices.close(index=opensearch_index._alias(ACME, MODEL))
        refused(lambda: opensearch_index.search(BOTH))
        refused(lambda: opensearch_index.count(ACME, DOC))
        other = Space("other")
        fill(opensearch_index, other, [entry("b", tenant="other", text="fox")])
        refused(lambda: opensearch_index.search(query(other, ACME, text="fox")))
        refused(lambda: opensearch_index.delete(ACME, DOC))
        client.close()

    def test_order_is_the_same_on_one_shard_and_on_three(self, opensearch_url: str) -> None:
        client = connect(opensearch_url, timeout_s=60.0)
        entries = [entry(f"d{n}", text="same words", vector=unit(1)) for n in range(60)]
        found = []
        for shards in (1, 3):
            prefix = f"shards{shards}-{time.time_ns()}"
            index = OpenSearchIndex(client, prefix, shards=shards, search_timeout_s=60.0)
            fill(index, ACME, entries)
            answer = index.search(query(ACME, text="words", vector=unit(1), depth=20))
            found.append((lexical(answer), semantic(answer)))
            client.indices.delete(index=f"{prefix}-*")
        assert found[0] == found[1]
        assert len(found[0][0]) == len(found[0][1]) == 20
        client.close()

    def test_a_tie_of_unequal_halves_is_the_same_with_statistics_of_three_shards(
        self, opensearch_url: str
    ) -> None:
        client = connect(opensearch_url, timeout_s=60.0)
        entries = [entry(f"d{n}", text="fox " * (1 + n % 3) + "dog") for n in range(40)]
        scores = []
        for shards in (1, 3):
            prefix = f"stats{shards}-{time.time_ns()}"
            index = OpenSearchIndex(client, prefix, shards=shards, search_timeout_s=60.0)
            fill(index, ACME, entries)
            hits = index.search(query(ACME, text="fox dog"))[Leg.LEXICAL]
            scores.append([(hit.entry.chunk_id, hit.score) for hit in hits])
            client.indices.delete(index=f"{prefix}-*")
        assert scores[0] == scores[1]
        client.close()
