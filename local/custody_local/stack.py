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
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custody_local import (
    calling,
    clients,
    deployment,
    elsewhere,
    emulator,
    net,
    opensearch,
    processes,
    warming,
)
from custody_local import state as states
from custody_local.errors import LocalStackError
from custody_local.issuer import CONFIGURATION_PATH, Algorithm, Issuer, create_keys
from custody_local.paths import STACK
from custody_local.planning import EMULATOR_PORT, plan
from custody_local.processes import Process
from custody_local.progress import Progress
from custody_local.state import IndexKind, State

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
        endpoint: str | None = None,
        port: int = EMULATOR_PORT,
        issuer_port: int | None = None,
        opensearch_port: int | None = None,
        enforce_iam: bool = False,
        stack_name: str = "custody",
        superseded_retention_days: int = 0,
    ) -> State:
        """Start what doesn't run, deploy the code as it is now, and return when the API answers.

        ``endpoint`` names an AWS that runs already, as ``endpoints.named`` gives it; without one
        an emulator is started on ``port``. A port of 0 means any free one; the issuer's and
        OpenSearch's follow ``port`` where None (0 when it is 0, else their defaults).
        OPENSEARCH_URL names a node to use instead of starting one. Called on a running stack of
        the same kind, it deploys again. A start that fails leaves nothing running.
        """
        with self._alone():
            state = self._present(index, model, endpoint, enforce_iam, stack_name)
            if state is not None:
                state.superseded_retention_days = superseded_retention_days
                self._deploy(state, deployment.build(model, self.built, self._progress))
                return state
            if endpoint is not None:
                elsewhere.claim(endpoint, stack_name)
            fresh = plan(self.folder, index, model, endpoint, port, issuer_port, opensearch_port)
            fresh.enforce_iam = enforce_iam
            fresh.stack_name = stack_name
            fresh.superseded_retention_days = superseded_retention_days
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
        """End everything that this stack started, and take it out of an AWS that it did not
        start. True: something was running."""
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

    def call(self, function: str, event: Mapping[str, Any]) -> Any:
        """What the deployed function replies. Raises LocalStackError when no stack runs, and with
        the function's own words where it fails."""
        state = states.load(self.folder)
        if state is None or not state.ready:
            raise LocalStackError("No local stack runs here: start one with 'custody up'.")
        client = clients.session(state.endpoint_url).client("lambda", config=calling.PATIENT)
        return calling.call(client, f"{state.stack_name}-{function}", event)

    def issuer(self) -> Issuer:
        """Raises LocalStackError when no stack runs."""
        state = states.load(self.folder)
        if state is None or not state.issuer:
            raise LocalStackError("No local stack runs here: start one with 'custody up'.")
        return self._issuer_of(state)

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

    def _issuer_of(self, state: State) -> Issuer:
        return Issuer(state.issuer, state.audience, self._keys_file)

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
        self,
        index: IndexKind,
        model: str,
        endpoint: str | None,
        enforce_iam: bool,
        stack_name: str,
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
        asked = (index, model, endpoint, enforce_iam, stack_name)
        where = state.endpoint_url if state.elsewhere else None
        if asked != (state.index, state.model, where, state.enforce_iam, state.stack_name):
            raise LocalStackError(
                f"A stack with index {state.index} and model {state.model} is already running "
                f"({state.endpoint_url}): stop it with 'custody down' first."
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
        if state.elsewhere:
            found += elsewhere.missed(state)
        elif "emulator" not in gone and not emulator.answers(state.endpoint_url):
            found.append("the local AWS does not answer")
        if "issuer" not in gone and net.get_json(state.issuer + CONFIGURATION_PATH) is None:
            found.append("the token issuer does not answer")
        needs_node = state.index == "opensearch" and "opensearch" not in gone
        if needs_node and not opensearch.answers(state.opensearch_url):
            found.append("OpenSearch does not answer")
        return tuple(found)

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
        if state.elsewhere:
            return
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
            "SupersededRetentionDays": str(state.superseded_retention_days),
        }
        deployed = deployment.deploy(
            built, state.endpoint_url, state.stack_name, parameters, self._progress
        )
        state.stack_id = deployed.stack_id
        state.outputs = deployed.outputs
        state.save(self.folder)  # what is there is known, whatever comes of the rest
        state.api_id = state.outputs["ApiId"]
        # The address in the outputs is AWS's own; the emulator serves it by path.
        state.api_url = f"{state.endpoint_url}/_aws/execute-api/{state.api_id}/v1"
        state.bucket = state.outputs["BucketName"]
        with self._progress.step("Starting the functions"):
            token = self._issuer_of(state).mint(
                tenant=warming.TENANT, subject="custody-up", scopes=["custody/read"]
            )
            aws = clients.session(state.endpoint_url)
            warming.warm(aws, state.stack_name, state.api_url, token)
        state.ready = True
        state.save(self.folder)

    def _clean(self, state: State) -> bool:
        running = elsewhere.remove(state, self._progress) if state.elsewhere else False
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
