"""Only the stack that was put up from here is taken out of an AWS that others use too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs

import pytest

from custody_local import clients, elsewhere, net, removal
from custody_local.errors import BadEndpoint, LocalStackError
from custody_local.progress import Progress
from custody_local.stack import Stack
from custody_local.state import State

STS = "https://sts.amazonaws.com/doc/2011-06-15/"
CLOUDFORMATION = "http://cloudformation.amazonaws.com/doc/2010-05-15/"
IDENTITY = f"""<GetCallerIdentityResponse xmlns="{STS}"><GetCallerIdentityResult>
<Account>000000000000</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"""
NO_SUCH_STACK = f"""<ErrorResponse xmlns="{CLOUDFORMATION}"><Error><Type>Sender</Type>
<Code>ValidationError</Code><Message>Stack with id s does not exist</Message></Error>
</ErrorResponse>"""
ONE_STACK = f"""<DescribeStacksResponse xmlns="{CLOUDFORMATION}"><DescribeStacksResult><Stacks>
<member><StackName>custody</StackName><StackStatus>STATUS</StackStatus></member></Stacks>
</DescribeStacksResult></DescribeStacksResponse>"""


@dataclass
class FakeAws:
    """``status``: of the one stack, None without one. ``asked``: what would change something."""

    url: str = ""
    status: str | None = None
    after_deletion: str | None = None
    asked: list[str] = field(default_factory=list)

    def answer(self, action: str) -> tuple[int, str]:
        if action == "GetCallerIdentity":
            return 200, IDENTITY
        if action == "DescribeStacks":
            if self.status is None:
                return 400, NO_SUCH_STACK
            return 200, ONE_STACK.replace("STATUS", self.status)
        self.asked.append(action)
        if action == "DeleteStack":
            self.status = self.after_deletion
        rows = "<StackResources/>" if action == "DescribeStackResources" else ""
        result = f"<{action}Result>{rows}</{action}Result>"
        return 200, f'<{action}Response xmlns="{CLOUDFORMATION}">{result}</{action}Response>'


@pytest.fixture
def aws() -> Iterator[FakeAws]:
    fake = FakeAws()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
            # DynamoDB is asked in JSON, and has no table.
            json = '{"TableNames": []}' if body.startswith("{") else None
            status, told = (200, json) if json else fake.answer(parse_qs(body)["Action"][0])
            self.send_response(status)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told.encode())

        def do_GET(self) -> None:
            """Only S3 is asked so: it has no bucket."""
            fake.asked.append("ListObjectVersions")
            told = b"<Error><Code>NoSuchBucket</Code><Message>none</Message></Error>"
            self.send_response(404)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    with ThreadingHTTPServer((net.HOST, 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        fake.url = f"http://{net.HOST}:{server.server_port}"
        try:
            yield fake
        finally:
            server.shutdown()


@pytest.fixture
def recorded(tmp_path: Path, aws: FakeAws) -> Callable[[str], Stack]:
    """A stack of the endpoint, as a start has recorded it with that id."""

    def record(stack_id: str) -> Stack:
        State(
            stack_name="custody",
            index="embedded",
            model="minilm",
            started_at="2026-01-01T00:00:00+00:00",
            ready=True,
            elsewhere=True,
            endpoint_url=aws.url,
            issuer="http://127.0.0.1:9",
            stack_id=stack_id,
        ).save(tmp_path)
        return Stack(tmp_path, progress=Progress(quiet=True))

    return record


def test_a_stack_that_is_gone_is_named_and_another_of_its_name_is_not_touched(
    aws: FakeAws, recorded: Callable[[str], Stack]
) -> None:
    stack = recorded("arn:of-ours")
    assert f"the stack custody is no longer at {aws.url}" in stack.status().problems
    assert stack.down() is False
    assert aws.asked == []
    assert stack.status().state is None


def test_a_start_that_broke_off_is_taken_back_by_name(
    aws: FakeAws, recorded: Callable[[str], Stack]
) -> None:
    aws.status = "CREATE_FAILED"
    assert recorded("").down() is True
    assert "DeleteStack" in aws.asked


@pytest.mark.timeout(60)  # it doesn't wait for what has failed
def test_a_stack_that_stays_is_told_and_not_forgotten(
    aws: FakeAws, recorded: Callable[[str], Stack]
) -> None:
    aws.status, aws.after_deletion = "CREATE_COMPLETE", "DELETE_FAILED"
    stack = recorded("arn:of-ours")
    with pytest.raises(LocalStackError, match="DELETE_FAILED"):
        stack.down()
    assert stack.status().state is not None


def test_an_endpoint_that_went_away_keeps_nothing_from_being_stopped(
    aws: FakeAws, recorded: Callable[[str], Stack], tmp_path: Path
) -> None:
    aws.url = f"http://{net.HOST}:{net.choose(0, what='nothing', option='')}"
    stack = recorded("arn:of-ours")
    assert f"the AWS at {aws.url} does not answer" in stack.status().problems
    assert stack.down() is False
    assert stack.status().state is None


@pytest.mark.parametrize("status", ["CREATE_COMPLETE", "ROLLBACK_COMPLETE", "DELETE_IN_PROGRESS"])
def test_no_second_stack_takes_the_tables_of_one_that_is_there(aws: FakeAws, status: str) -> None:
    aws.status = status
    with pytest.raises(BadEndpoint) as refused:
        elsewhere.claim(aws.url, "custody")
    assert refused.value.code == "endpoint-occupied"


def test_what_was_deleted_is_not_there(aws: FakeAws) -> None:
    aws.status = "DELETE_COMPLETE"
    assert not removal.present(clients.session(aws.url), "custody")
    elsewhere.claim(aws.url, "custody")
