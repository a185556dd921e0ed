"""What a running stack is made of, kept in a file so that any later command finds it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from custody_local.processes import Process

type IndexKind = Literal["embedded", "opensearch"]
FILE = "state.json"
VERSION = 1


@dataclass(slots=True)
class State:
    """Addresses are empty until the part that has them is up. ``elsewhere``: the AWS was not
    started with this stack, and goes on without it. ``processes`` holds what was started here, by
    name, in the order of starting."""

    stack_name: str
    index: IndexKind
    model: str
    started_at: str
    ready: bool = False
    enforce_iam: bool = False
    superseded_retention_days: int = 0
    elsewhere: bool = False
    stack_id: str = ""
    api_url: str = ""
    api_id: str = ""
    bucket: str = ""
    endpoint_url: str = ""
    region: str = ""
    opensearch_url: str = ""
    embedded_index_path: str = ""
    issuer: str = ""
    audience: str = "custody"
    ports: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"{FILE}.new"
        draft.write_text(json.dumps({"version": VERSION, **asdict(self)}, indent=2) + "\n")
        draft.replace(folder / FILE)


def load(folder: Path) -> State | None:
    """None: no stack was started from this folder, or its file says nothing usable."""
    try:
        told: dict[str, Any] = json.loads((folder / FILE).read_text())
        if told.pop("version") != VERSION:
            return None
        told["processes"] = {name: Process(**p) for name, p in told["processes"].items()}
        return State(**told)
    except (FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
        return None


def forget(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)
