"""The demo must fail when a claim doesn't hold, and must always leave nothing running."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from typer.testing import CliRunner

from custody_cli.demo import __main__ as program
from custody_cli.demo import corpus, running
from custody_cli.demo.checks import Checks
from custody_cli.demo.signatures import verify
from custody_cli.demo.stage import Person, Running
from custody_local.errors import LocalStackError
from custody_local.progress import Progress
from custody_local.stack import Stack
from tests.support.fake_api import BUCKET, FakeApi


class FakeRunning:
    """A service without tenants, ACLs, signatures or a gate."""

    def __init__(self, api: FakeApi) -> None:
        self.api_url = api.url
        self.bucket = BUCKET
        self.endpoint_url = api.origin
        self.aws: Mapping[str, str] = {
            "aws_access_key_id": "test",
            "aws_secret_access_key": "test",
            "region_name": "us-east-1",
        }
        self.left: list[str] = []

    def token(self, person: Person, scopes: tuple[str, ...]) -> str:
        return f"{person.tenant}-{person.name}-{'-'.join(scopes)}".replace("/", ".")

    def public_key(self) -> bytes:
        key = ec.generate_private_key(ec.SECP256R1()).public_key()
        return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def leftovers(self) -> list[str]:
        return self.left


@pytest.fixture
def permissive() -> Iterator[FakeRunning]:
    with FakeApi() as api:
        yield FakeRunning(api)


def run_demo(stack: AbstractContextManager[Running], *words: str) -> Any:
    return CliRunner().invoke(program.app, list(words), obj=program.Wiring(lambda *_: stack))


def test_a_service_that_shows_everything_to_everybody_fails_the_demo(
    permissive: FakeRunning,
) -> None:
    result = run_demo(nullcontext(permissive), "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["ok"] is False
    failed = {check["claim"] for check in report["checks"] if not check["ok"]}
    for claim in (
        "the file whose sidecar claims trust is rejected",
        "mira, of the same tenant, does not",
        "ines, of the other tenant, gets no word that isn't Lakeside's own",
        "asked for the report by its id, ines@lakeside is told that there is none",
        "no script, handler or frame is in it",
    ):
        assert claim in failed
    assert report["drops"]
    assert report["searches"]


def test_what_is_left_running_fails_the_demo(permissive: FakeRunning) -> None:
    permissive.left = ["port 4567"]
    report = json.loads(run_demo(nullcontext(permissive), "--json").stdout)
    assert {"claim": "nothing is left running", "ok": False, "seen": "port 4567"} in report[
        "checks"
    ]


def test_the_failed_claims_are_said_to_a_person(permissive: FakeRunning) -> None:
    result = run_demo(nullcontext(permissive))
    assert result.exit_code == 1
    assert "FAIL" in result.stderr
    assert "claims failed" in result.stderr


def test_a_stack_that_does_not_start_is_2() -> None:
    @contextmanager
    def stack() -> Iterator[FakeRunning]:
        raise LocalStackError("make is not installed.")
        yield

    result = run_demo(stack())
    assert result.exit_code == 2
    assert "make is not installed." in result.stderr


# --- the stack's life ---------------------------------------------------------------------------


class FakeStack:
    """Stands for custody_local's Stack; ``calls`` keeps the order."""

    def __init__(self, fails: bool = False) -> None:
        self.calls: list[str] = []
        self.fails = fails
        self.signal_as_it_goes_down: signal.Signals | None = None

    def down(self) -> bool:
        if self.signal_as_it_goes_down is not None:
            os.kill(os.getpid(), self.signal_as_it_goes_down)
        self.calls.append("down")
        return True

    def up(self, **_: object) -> Any:
        self.calls.append("up")
        if self.fails:
            raise LocalStackError("The deployment failed.")
        return type(
            "State",
            (),
            {
                "api_url": "http://x", "bucket": "b", "endpoint_url": "http://127.0.0.1:1",
                "region": "r", "processes": {}, "ports": {}, "outputs": {},
            },
        )()  # fmt: skip


@pytest.fixture
def fake_stack() -> FakeStack:
    return FakeStack()


def opened(fake_stack: FakeStack, tmp_path: Path) -> Any:
    return running.demo_stack(
        "embedded",
        "minilm",
        None,
        Progress(quiet=True),
        folder=tmp_path,
        make=lambda *_, **__: cast("Stack", fake_stack),
    )


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_stack_goes_down_whatever_ends_the_story(
    fake_stack: FakeStack, tmp_path: Path, error: type[BaseException]
) -> None:
    with pytest.raises(error), opened(fake_stack, tmp_path):
        raise error
    assert fake_stack.calls == ["down", "up", "down"]


def test_a_start_that_fails_is_cleaned_up(fake_stack: FakeStack, tmp_path: Path) -> None:
    fake_stack.fails = True
    with pytest.raises(LocalStackError), opened(fake_stack, tmp_path):
        pass
    assert fake_stack.calls == ["down", "up", "down"]


def test_a_termination_signal_cleans_up_as_ctrl_c_does(
    fake_stack: FakeStack, tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), opened(fake_stack, tmp_path):
        os.kill(os.getpid(), signal.SIGTERM)
    assert fake_stack.calls[-1] == "down"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_second_ctrl_c_does_not_stop_the_clean_up(fake_stack: FakeStack, tmp_path: Path) -> None:
    def story() -> None:
        with opened(fake_stack, tmp_path):
            fake_stack.signal_as_it_goes_down = signal.SIGINT
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        story()
    assert fake_stack.calls == ["down", "up", "down"]


# --- its parts ----------------------------------------------------------------------------------


def signed(statement: dict[str, Any], key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    payload = json.dumps(statement).encode()
    kind = "application/vnd.in-toto+json"
    covered = b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)
    signature = key.sign(covered, ec.ECDSA(SHA256()))
    return {
        "payloadType": kind,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": "k", "sig": base64.b64encode(signature).decode()}],
    }


def der(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def test_a_statement_verifies_with_its_own_key_and_no_other() -> None:
    key, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    envelope = signed({"subject": [1]}, key)
    assert verify(envelope, der(key)) == {"subject": [1]}
    with pytest.raises(ValueError, match="signature"):
        verify(envelope, der(other))
    envelope["payload"] = base64.b64encode(b'{"subject": [2]}').decode()
    with pytest.raises(ValueError, match="signature"):
        verify(envelope, der(key))


def test_a_failed_claim_does_not_hide_those_after_it() -> None:
    checks = Checks()
    checks.equal("one", 1, 2)
    checks.that("two", True)
    assert [check.ok for check in checks.made] == [False, True]
    assert checks.failed[0].seen == "1, expected 2"


def test_the_corpus_has_each_kind_that_the_demo_tells_of() -> None:
    first = {one.key: one for one in corpus.first_versions()}
    kinds = {one.item.path.suffix for one in first.values()}
    assert {".md", ".html", ".pdf", ".txt", ".jsonl", ".csv"} <= kinds
    assert {tenant for tenant, _, _ in first} == {"harbour", "lakeside"}
    assert len(first) >= 16
    (again,) = corpus.second_versions()
    assert again.key in first
    assert again.item.path.read_bytes() != first[again.key].item.path.read_bytes()


def test_the_pdf_is_what_its_program_makes(tmp_path: Path) -> None:
    path = corpus.FOLDER / "make_pdf.py"
    code = path.read_text(encoding="utf-8")
    made: dict[str, Any] = {"__name__": "made", "__file__": str(tmp_path / "make_pdf.py")}
    (tmp_path / "harbour" / "handbook").mkdir(parents=True)
    exec(compile(code, str(path), "exec"), made)
    made["make"]()
    committed = corpus.FOLDER / "harbour" / "handbook" / "pump-station-7.pdf"
    assert made["FILE"].read_bytes() == committed.read_bytes()
