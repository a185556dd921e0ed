"""Which ports and addresses a stack will have, before anything of it is started."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from custody.addresses import is_safe
from custody_local import emulator, net, opensearch
from custody_local.errors import LocalStackError, MissingTool
from custody_local.state import IndexKind, State

EMULATOR_PORT = 4566
ISSUER_PORT = 4567
OPENSEARCH_PORT = 9200
AUDIENCE = "custody"


def plan(
    folder: Path,
    index: IndexKind,
    model: str,
    endpoint: str | None,
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
    ports = {}
    if endpoint is None:
        ports["emulator"] = net.choose(port, what="the local AWS", option="--port")
    ports["issuer"] = net.choose(issuer_port, what="the token issuer", option="--port")
    path = ""
    if index == "embedded":
        path = str(folder / "index" / "evidence.sqlite")
    elif not node:
        lack = opensearch.missing()
        if lack:
            raise MissingTool(lack)
        ports["opensearch"] = net.choose(
            opensearch_port, what="OpenSearch", option="--opensearch-port"
        )
        node = opensearch.url(ports["opensearch"])
    elif not is_safe(node):
        raise LocalStackError(
            f"OPENSEARCH_URL names {node}: Custody reaches it over https, or on this machine."
        )
    elif not opensearch.answers(node):
        raise LocalStackError(f"OPENSEARCH_URL names {node}, and no OpenSearch answers there.")
    return State(
        stack_name="custody",
        index=index,
        model=model,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        elsewhere=endpoint is not None,
        endpoint_url=endpoint or emulator.url(ports["emulator"]),
        region=emulator.REGION,
        issuer=f"http://{net.HOST}:{ports['issuer']}",
        audience=AUDIENCE,
        opensearch_url=node,
        embedded_index_path=path,
        ports=ports,
    )
