"""Which AWS is meant, and that nothing but an emulator is ever taken for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from custody_local import clients, endpoints, net
from custody_local.errors import BadEndpoint
from custody_local.progress import Progress
from custody_local.stack import Stack

URL = "http://127.0.0.1:4566"
IDENTITY = """<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<GetCallerIdentityResult><Arn>arn:aws:iam::{account}:root</Arn><UserId>u</UserId>
<Account>{account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"""
REFUSAL = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>
<Type>Sender</Type><Code>InvalidClientTokenId</Code><Message>no such token</Message></Error>
</ErrorResponse>"""


@contextmanager
def server(body: str, status: int = 200) -> Iterator[str]:
    """Answers every POST in one way; gives its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    with ThreadingHTTPServer((net.HOST, 0), Answer) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        try:
            yield f"http://{net.HOST}:{listening.server_port}"
        finally:
            listening.shutdown()


@pytest.mark.parametrize(
    ("option", "environment", "endpoint"),
    [
        (None, {}, None),
        (URL, {}, URL),
        (f"{URL}/", {}, URL),
        (None, {"AWS_ENDPOINT_URL": "http://other:1"}, "http://other:1"),
        (None, {"LOCALSTACK_HOST": "other"}, "http://other:4566"),
        (None, {"LOCALSTACK_HOST": "other:4577"}, "http://other:4577"),
        (None, {"LOCALSTACK_HOST": "other", "USE_SSL": "1"}, "https://other:4566"),
        (None, {"LOCALSTACK_HOST": "other", "EDGE_PORT": "4577"}, "http://other:4577"),
        (None, {"LOCALSTACK_HOST": "other:1", "EDGE_PORT": "4577"}, "http://other:1"),
        (None, {"EDGE_PORT": "4577"}, "http://localhost:4577"),
        (None, {"AWS_ENDPOINT_URL": " ", "LOCALSTACK_HOST": ""}, None),
        (URL, {"AWS_ENDPOINT_URL": "http://other:1", "LOCALSTACK_HOST": "third"}, URL),
        (None, {"AWS_ENDPOINT_URL": URL, "LOCALSTACK_HOST": "third", "EDGE_PORT": "1"}, URL),
    ],
)
def test_the_option_wins_then_the_url_then_the_host(
    option: str | None, environment: dict[str, str], endpoint: str | None
) -> None:
    assert endpoints.named(option, environment) == endpoint


@pytest.mark.parametrize(
    "url",
    ["localhost:4566", "http://", "ftp://h:1", "http://h:port", "http://h:1/path", "http://u@h:1"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadEndpoint) as refused:
        endpoints.named(url, {})
    assert refused.value.code == "endpoint-invalid"


def test_a_host_that_is_none_is_refused() -> None:
    with pytest.raises(BadEndpoint) as refused:
        endpoints.named(None, {"LOCALSTACK_HOST": "other:port"})
    assert refused.value.code == "endpoint-invalid"


@pytest.mark.parametrize(
    "host",
    [
        "sts.amazonaws.com",
        "CloudFormation.eu-west-1.AMAZONAWS.com",
        "s3.amazonaws.com.",
        "amazonaws.com",
        "sqs.cn-north-1.amazonaws.com.cn",
        "sqs.eu-west-1.api.aws",
        "vpce-1.sts.eu-west-1.vpce.amazonaws.com",
    ],
)
def test_aws_itself_is_refused_by_name(host: str) -> None:
    for option, environment in (
        (f"https://{host}", {}),
        (None, {"AWS_ENDPOINT_URL": f"https://{host}"}),
        (None, {"LOCALSTACK_HOST": host}),
    ):
        with pytest.raises(BadEndpoint) as refused:
            endpoints.named(option, environment)
        assert refused.value.code == "endpoint-is-aws"


@pytest.mark.parametrize("host", ["localhost", "notamazonaws.com", "amazonaws.com.example"])
def test_another_name_is_none_of_aws(host: str) -> None:
    assert not endpoints.is_aws(host)


def test_an_emulator_is_taken() -> None:
    with server(IDENTITY.format(account="000000000000")) as url:
        endpoints.confirm(url)
        assert endpoints.answers(url)


def test_a_numbered_account_is_aws_whatever_its_address() -> None:
    with server(IDENTITY.format(account="111122223333")) as url:
        with pytest.raises(BadEndpoint, match="111122223333") as refused:
            endpoints.confirm(url)
        assert refused.value.code == "endpoint-is-aws"
        assert not endpoints.answers(url)


@pytest.mark.parametrize(
    ("body", "status"),
    [("<html>hello</html>", 200), ("hello", 200), ("", 200), ("", 404), (REFUSAL, 403)],
)
def test_what_does_not_speak_as_aws_does_or_wants_real_credentials_is_refused(
    body: str, status: int
) -> None:
    with server(body, status) as url, pytest.raises(BadEndpoint) as refused:
        endpoints.confirm(url)
    assert refused.value.code == "endpoint-not-aws"


def silent() -> str:
    return f"http://{net.HOST}:{net.choose(0, what='nothing', option='')}"


def test_where_nothing_listens_nothing_is_started_and_nothing_is_left(tmp_path: Path) -> None:
    stack = Stack(tmp_path, progress=Progress(quiet=True))
    with pytest.raises(BadEndpoint) as refused:
        stack.up(endpoint=silent(), port=0)
    assert refused.value.code == "endpoint-unreachable"
    assert {path.name for path in tmp_path.iterdir()} == {"lock"}


def test_a_session_keeps_its_endpoint_and_its_made_up_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://other:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://other:2")
    monkeypatch.setenv("LOCALSTACK_HOST", "no:port")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a-real-one")
    client = clients.session("http://aws.example:4566").client("s3")
    url = client.generate_presigned_url("get_object", {"Bucket": "b", "Key": "k"})
    assert url.startswith("http://aws.example:4566/b/k?")
    assert "a-real-one" not in url
