"""The SciFact folder: abstracts, claims and judgements."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Abstract:
    document_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class SciFact:
    abstracts: tuple[Abstract, ...]
    claims: dict[str, str]
    judged: dict[str, dict[str, float]]  # claim -> document -> gain


def load(folder: Path) -> SciFact:
    """Raises FileNotFoundError naming the file that is missing."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        abstracts = tuple(
            Abstract(row["id"], row["title"], row["text"]) for row in map(json.loads, lines)
        )
    with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
        claims = {row["id"]: row["text"] for row in map(json.loads, lines)}
    judged: dict[str, dict[str, float]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            judged.setdefault(row["qid"], {})[row["did"]] = float(row["rel"])
    return SciFact(abstracts, claims, judged)
