"""The whole service on one machine: up, down, status, tokens.

    stack = Stack()
    state = stack.up(index="embedded")
    token = stack.mint_token(tenant="acme", subject="ana", groups=["eng"],
                             scopes=["custody/read"])
    stack.down()

Each step says on stderr what it does. Every error is a LocalStackError whose text says what to do.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from custody_local import deployment, emulator, net, opensearch, processes
from custody_local import state as states
from custody_local.errors import LocalStackError, MissingTool
from custody_local.issuer import CONFIGURATION_PATH, Algorithm, Issuer, create_keys
from custody_local.paths import STACK
from custody_local.processes import Process
from custody_local.progress import Progress
from custody_local.state import IndexKind, State

EMULATOR_PORT = 4566
ISSUER_PORT = 4567
OPENSEARCH_PORT = 9200
AUDIENCE = "custody"
NAMES = {"emulator": "the local AWS", "issuer": "the token issuer", "opensearch": "OpenSearch"}


@dataclass(frozen=True, slots=True)
class Status:
    """``problems`` names, in words, each part that should run and doesn't."""

    running: bool
    problems: tuple[str, ...]
    state: State | None

    def as_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"running": self.running, "problems": list(self.problems)}
        if self.state is not None:
            keys: tuple[str, ...] = (
                "stack_name",
                "index",
                "model",
                "api_url",
                "bucket",
                "endpoint_url",
                "region",
            )
            keys += ("opensearch_url", "issuer", "audience", "ports", "outputs", "started_at")
            told |= {key: getattr(self.state, key) for key in keys}
            told["pids"] = {name: p.pid for name, p in self.state.processes.items()}
        return told


class Stack:
    """One stack per ``folder``. Different folders with different ports run side by side."""

    def __init__(self, folder: Path | None = None, *, progress: Progress | None = None) -> None:
        named = os.environ.get("CUSTODY_STACK_DIR")
        self.folder = (folder or (Path(named) if named else STACK)).resolve()
        self.built = self.folder / "build"
        self._progress = progress or Progress()

    def up(
        self,
        *,
        index: IndexKind = "embedded",
        model: str = "minilm",
        port: int = EMULATOR_PORT,
        issuer_port: int | None = None,
        opensearch_port: int | None = None,
        enforce_iam: bool = False,
        stack_name: str = "custody",
    ) -> State:
        """Start what doesn't run, deploy the code as it is now, and return when the API answers.

        A port of 0 means any free one; the issuer's and OpenSearch's follow ``port`` where None
        (0 when it is 0, else their defaults). OPENSEARCH_URL names a node to use instead of
        starting one. Called on a running stack of the same kind, it deploys again. A start that
        fails leaves nothing running.
        """
        with self._alone():
            state = self._present(index, model, enforce_iam, stack_name)
            if state is not None:
                self._deploy(state, deployment.build(model, self.built, self._progress))
                return state
            fresh = self._plan(index, model, port, issuer_port, opensearch_port)
            fresh.enforce_iam = enforce_iam
            fresh.stack_name = stack_name
            self._empty()
            built = deployment.build(model, self.built, self._progress)
            try:
                self._start_parts(fresh)
                self._deploy(fresh, built)
            except BaseException:
                self._clean(fresh)
                raise
            return fresh

    def down(self) -> bool:
        """End everything that this stack started. True: something was running."""
        with self._alone():
            state = states.load(self.folder)
            return self._clean(state) if state else False

    def status(self) -> Status:
        state = states.load(self.folder)
        if state is None:
            return Status(running=False, problems=(), state=None)
        problems = self._problems(state)
        if not state.ready:
            problems = (*problems, "the last start did not finish")
        return Status(running=not problems, problems=problems, state=state)

    def issuer(self) -> Issuer:
        """Raises LocalStackError when no stack runs."""
        state = states.load(self.folder)
        if state is None or not state.issuer:
            raise LocalStackError("No local stack runs here: start one with 'custody up'.")
        return Issuer(state.issuer, state.audience, self._keys_file)

    def mint_token(
        self,
        *,
        tenant: str,
        subject: str,
        groups: Collection[str] = (),
        scopes: Collection[str] = (),
        ttl: int = 3600,
        algorithm: Algorithm = "ES256",
    ) -> str:
        return self.issuer().mint(
            tenant=tenant,
            subject=subject,
            groups=groups,
            scopes=scopes,
            ttl=ttl,
            algorithm=algorithm,
        )

    # ---------------------------------------------------------------------------------------------

    @property
    def _keys_file(self) -> Path:
        return self.folder / "issuer-keys.json"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LocalStackError(
                    "Another command is starting or stopping this stack: wait for it to finish."
                ) from None
            yield

    def _present(
        self, index: IndexKind, model: str, enforce_iam: bool, stack_name: str
    ) -> State | None:
        """The running stack, if it is one like that; a half-dead one is cleaned away."""
        state = states.load(self.folder)
        if state is None:
            return None
        problems = self._problems(state)
        if problems or not state.ready:
            why = "; ".join(problems) or "its start did not finish"
            self._progress.note(f"An earlier stack is half dead ({why}): cleaning it up.")
            self._clean(state)
            return None
        asked = (index, model, enforce_iam, stack_name)
        if asked != (state.index, state.model, state.enforce_iam, state.stack_name):
            raise LocalStackError(
                f"A stack with index {state.index} and model {state.model} is already running: "
                "stop it with 'custody down' first."
            )
        self._progress.note("The stack is already running: deploying the code as it is now.")
        return state

    def _problems(self, state: State) -> tuple[str, ...]:
        found = [
            f"{NAMES[name]} (pid {process.pid}) is gone"
            for name, process in state.processes.items()
            if not processes.alive(process)
        ]
        gone = {name for name, p in state.processes.items() if not processes.alive(p)}
        if "emulator" not in gone and not emulator.answers(state.endpoint_url):
            found.append("the local AWS does not answer")
        if "issuer" not in gone and net.get_json(state.issuer + CONFIGURATION_PATH) is None:
            found.append("the token issuer does not answer")
        needs_node = state.index == "opensearch" and "opensearch" not in gone
        if needs_node and not opensearch.answers(state.opensearch_url):
            found.append("OpenSearch does not answer")
        return tuple(found)

    def _plan(
        self,
        index: IndexKind,
        model: str,
        port: int,
        issuer_port: int | None,
        opensearch_port: int | None,
    ) -> State:
        """Ports and addresses, before anything is started. Raises PortTaken."""
        if issuer_port is None:
            issuer_port = port and ISSUER_PORT
        if opensearch_port is None:
            opensearch_port = port and OPENSEARCH_PORT
        node = os.environ.get("OPENSEARCH_URL", "").rstrip("/") if index == "opensearch" else ""
        ports = {
            "emulator": net.choose(port, what="the local AWS", option="--port"),
            "issuer": net.choose(issuer_port, what="the token issuer", option="--port"),
        }
        path = ""
        if index == "embedded":
            path = str(self.folder / "index" / "evidence.sqlite")
        elif not node:
            lack = opensearch.missing()
            if lack:
                raise MissingTool(lack)
            ports["opensearch"] = net.choose(
                opensearch_port, what="OpenSearch", option="--opensearch-port"
            )
            node = opensearch.url(ports["opensearch"])
        elif not opensearch.answers(node):
            raise LocalStackError(f"OPENSEARCH_URL names {node}, and no OpenSearch answers there.")
        return State(
            stack_name="custody",
            index=index,
            model=model,
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            endpoint_url=emulator.url(ports["emulator"]),
            region=emulator.REGION,
            issuer=f"http://{net.HOST}:{ports['issuer']}",
            audience=AUDIENCE,
            opensearch_url=node,
            embedded_index_path=path,
            ports=ports,
        )

    def _start_parts(self, state: State) -> None:
        def keep(name: str, process: Process) -> None:
            state.processes[name] = process
            state.save(self.folder)

        if "opensearch" in state.ports:
            port = state.ports["opensearch"]
            keep("opensearch", opensearch.start(self.folder / "node", port, self._progress))
        if state.embedded_index_path:
            Path(state.embedded_index_path).parent.mkdir(parents=True)
        create_keys(self._keys_file)
        keep("issuer", self._start_issuer(state))
        process = emulator.start(
            self.folder / "aws",
            state.ports["emulator"],
            self._progress,
            enforce_iam=state.enforce_iam,
        )
        keep("emulator", process)

    def _start_issuer(self, state: State) -> Process:
        log = self.folder / "issuer.log"
        command = [sys.executable, "-m", "custody_local.issuer", str(self._keys_file)]
        process = processes.start(
            [*command, str(state.ports["issuer"])], log=log, env=emulator.bare_environment({})
        )
        try:
            processes.wait_until(
                lambda: net.get_json(state.issuer + CONFIGURATION_PATH) is not None,
                process,
                what="The token issuer",
                log=log,
                seconds=20,
            )
        except BaseException:
            processes.stop(process)
            raise
        return process

    def _deploy(self, state: State, built: Path) -> None:
        parameters = {
            "TokenIssuer": state.issuer,
            "TokenAudience": state.audience,
            "IndexKind": state.index,
            "OpenSearchUrl": state.opensearch_url,
            "EmbeddedIndexPath": state.embedded_index_path,
            "ModelName": state.model,
        }
        outputs = deployment.deploy(
            built, state.endpoint_url, state.stack_name, parameters, self._progress
        )
        state.outputs = outputs
        state.api_id = outputs["ApiId"]
        # The address in the outputs is AWS's own; the emulator serves it by path.
        state.api_url = f"{state.endpoint_url}/_aws/execute-api/{state.api_id}/v1"
        state.bucket = outputs["BucketName"]
        state.ready = True
        state.save(self.folder)

    def _clean(self, state: State) -> bool:
        running = False
        for name, process in reversed(state.processes.items()):
            with self._progress.step(f"Stopping {NAMES[name]}"):
                running = processes.stop(process) or running
        states.forget(self.folder)
        self._empty()
        return running

    def _empty(self) -> None:
        """Drop what a stopped stack left; logs stay for whoever wonders why it stopped."""
        for name in ("aws/tmp", "build", "index", "node/data"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._keys_file.unlink(missing_ok=True)
