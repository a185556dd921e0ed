"""A stack is up when its functions work, and a start that shows otherwise says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from threading import Thread
from typing import Any, cast

import pytest

from custody_local import net, warming
from custody_local.clients import EndpointSession
from custody_local.errors import NotServing


@dataclass
class FakeFunctions:
    """A session whose one client is a Lambda that keeps what it was called with."""

    failing: str | None = None
    called: dict[str, Any] = field(default_factory=dict)

    def client(self, *_: object, **__: object) -> FakeFunctions:
        return self

    def invoke(self, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        self.called[FunctionName] = json.loads(Payload)
        reply: dict[str, Any] = {"Payload": BytesIO(b'{"errorMessage": "no such module"}')}
        return reply | ({"FunctionError": "Unhandled"} if FunctionName == self.failing else {})


@dataclass
class FakeApi:
    url: str = ""
    answers: dict[str, int] = field(
        default_factory=lambda: {"GET /documents": 200, "POST /search": 422}
    )
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    told = FakeApi()

    class Answer(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            call = f"{self.command} {self.path}"
            told.asked.append(call)
            self.send_response(told.answers[call])
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"told")

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    with ThreadingHTTPServer((net.HOST, 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        told.url = f"http://{net.HOST}:{server.server_port}"
        try:
            yield told
        finally:
            server.shutdown()


def warm(functions: FakeFunctions, api: FakeApi) -> None:
    warming.warm(cast("EndpointSession", functions), "custody", api.url, "token")


def test_each_function_that_a_first_document_meets_is_called_without_work(api: FakeApi) -> None:
    functions = FakeFunctions()
    warm(functions, api)
    names = ("accept", "parse", "embed", "publish")
    assert functions.called == {f"custody-{name}": {"Records": []} for name in names}
    assert set(api.asked) == {"GET /documents", "POST /search"}


def test_a_function_that_can_not_start_is_named_with_what_it_says(api: FakeApi) -> None:
    with pytest.raises(NotServing, match=r"custody-embed fails at its start.*no such module"):
        warm(FakeFunctions(failing="custody-embed"), api)


@pytest.mark.parametrize("call", ["GET /documents", "POST /search"])
def test_an_api_that_does_not_serve_is_told(api: FakeApi, call: str) -> None:
    api.answers[call] = 503
    with pytest.raises(NotServing, match=rf"{call} answers 503: told.*token issuer"):
        warm(FakeFunctions(), api)


def test_an_api_that_is_not_there_is_told() -> None:
    nowhere = FakeApi(url=f"http://{net.HOST}:{net.choose(0, what='nothing', option='')}")
    with pytest.raises(NotServing, match="gets no answer"):
        warm(FakeFunctions(), nowhere)
