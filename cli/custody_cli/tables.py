"""Replies as a person wants to see them. Each function gives rich renderables, top to bottom."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from rich.table import Table
from rich.text import Text

from custody_cli.output import plain, text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from custody_client.types import (
        Answer,
        AnswerAttempt,
        Document,
        Erasure,
        Evidence,
        IndexBuild,
        Key,
        LegScore,
        PastAccess,
        PolicyHistory,
        Provenance,
        SearchResult,
        SignedPolicy,
        Source,
        StoredAnswer,
        StoredAttempt,
    )

SNIPPET = 160
NO_LONGER_SHOWN = "(no longer shown)"
_VERDICT_STYLE = {"answerable": "bold green", "insufficient": "bold red", "needs_review": "yellow"}


def search(found: SearchResult, *, full: bool = False) -> list[RenderableType]:
    parts: list[RenderableType] = [
        text(f"{len(found['results'])} results, route {found['route']} ({found['route_reason']})")
    ]
    if found["results"]:
        parts.append(evidence(found["results"], full=full))
    parts += _signals(found["results"])
    parts += _degraded(found.get("degraded", []))
    withheld = found.get("withheld")
    if withheld:
        told = ", ".join(f"{reason}: {count}" for reason, count in sorted(withheld.items()))
        parts.append(text(f"withheld: {told}", "yellow"))
    parts.append(text(f"trace {found['trace_id']}", "dim"))
    return parts


def evidence(items: Sequence[Evidence], *, full: bool = False) -> Table:
    """Rank, document, score with its parts, provenance, passage."""
    table = Table(show_lines=full, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("document", overflow="fold", max_width=30)
    table.add_column("score", justify="right")
    table.add_column("semantic / lexical / reputation", justify="right", overflow="fold")
    table.add_column("provenance")
    table.add_column("passage", overflow="fold", ratio=1)
    for item in items:
        scores = item["scores"]
        legs = f"{_leg(scores['semantic'])} / {_leg(scores['lexical'])}"
        outcome = item["provenance"]["outcome"]
        table.add_row(
            text(item["rank"]),
            _document_cell(item),
            text(f"{item['score']:.3f}"),
            text(f"{legs} / {_number(scores['reputation'])}"),
            text(outcome, "green" if outcome == "VERIFIED" else "bold red"),
            text(item["text"] if full else snippet(item["text"])),
        )
    return table


def _document_cell(item: Evidence) -> Text:
    place = f"p. {item['page']}" if item["page"] is not None else (item["heading"] or "")
    return Text.assemble(
        text(item["title"] or item["name"], "bold"),
        text(f"\n{item['name']} v{item['version']}"),
        text(f"\n{place}" if place else ""),
        text(f"\n{item['source_id']}, {item['trust_domain']}", "dim"),
    )


def answer(given: Answer, *, full: bool = False) -> list[RenderableType]:
    gate = given["gate"]
    parts: list[RenderableType] = [
        text(given["verdict"], _VERDICT_STYLE.get(given["verdict"], "bold")),
        text(f"score {gate['score']:.3f}, threshold {gate['threshold']:.3f}"
             f" ({gate['preset'] or 'given'}){', overridden' if gate['overridden'] else ''}"),
        text(f"reasons: {', '.join(gate['reasons'])}"),
        text(gate["explanation"]),
    ]  # fmt: skip
    features = Table("feature", "value", "floor", title="gate", title_justify="left")
    for name, value in gate["features"].items():
        features.add_row(text(name), text(_number(value)), text(_number(gate["floors"].get(name))))
    parts.append(features)
    parts += _attempts(given["attempts"])
    if given["evidence"]:
        parts.append(evidence(given["evidence"], full=full))
    parts += _signals(given["evidence"])
    parts += _degraded(given.get("degraded", []))
    parts.append(text(f"answer {given['answer_id']}", "dim"))
    return parts


def _attempts(attempts: Sequence[AnswerAttempt | StoredAttempt]) -> list[RenderableType]:
    """Nothing where nothing was rewritten."""
    if len(attempts) < 2:
        return []
    table = Table("try", "added terms", "score", "stopped", title="rewrites", title_justify="left")
    for number, attempt in enumerate(attempts, start=1):
        words = [word if word is not None else NO_LONGER_SHOWN for word in attempt["added_terms"]]
        table.add_row(
            text(number),
            text(", ".join(words) or "-"),
            text(_number(attempt["score"])),
            text(attempt["stop_reason"] or ""),
        )
    return [table]


def erasure(receipt: Erasure) -> list[RenderableType]:
    state = receipt["state"]
    table = Table("copy", "level", "verified at", "detail")
    for artifact in receipt["artifacts"]:
        table.add_row(
            text(artifact["location"]),
            text(artifact["level"]),
            text(artifact.get("verified_at")),
            text(artifact.get("detail")),
        )
    style = "bold green" if state == "COMPLETE" else "bold yellow"
    return [text(f"{receipt['erasure_id']}: {state}", style), table]


def document(found: Document, provenance: Provenance) -> list[RenderableType]:
    parts: list[RenderableType] = [_pairs(found, skip={"versions"})]
    versions = found.get("versions", [])
    if versions:
        table = Table("version", "state", "sha-256", "reasons")
        for version in versions:
            table.add_row(
                text(version["version"]),
                text(version["state"]),
                text((version.get("content_sha256") or "")[:16]),
                text(", ".join(version.get("reasons", []))),
            )
        parts.append(table)
    parts.append(text(f"statement of version {provenance['version']}", "bold"))
    signatures = cast("list[dict[str, Any]]", provenance["envelope"].get("signatures", []))
    parts += [text(f"signed by {signature.get('keyid')}") for signature in signatures]
    parts.append(text(_statement(provenance)))
    return parts


def access(found: PastAccess) -> list[RenderableType]:
    told: dict[str, object] = {
        "document": found["document_id"],
        "at": found["at"],
        "version": found["version"] or "nothing was live",
    }
    for name, allowed in (("acl", found["acl"]), ("narrowed to", found["narrowed_to"])):
        if allowed is not None:
            told[name] = ", ".join(allowed["allow"]) or "nobody"
    told["since"], told["until"] = found["since"], found["until"]
    told["changed by"], told["statement"] = found["changed_by"], found["statement_id"]
    source = found["source"]
    if source is not None:
        told["source"] = f"{source['source_id']} ({source['state']}, {source['trust_domain']})"
        if source["max_acl"] is not None:
            told["at most"] = ", ".join(source["max_acl"]["allow"]) or "nobody"
    return [_pairs(told, skip=set())]


def keys(found: Sequence[Key]) -> list[RenderableType]:
    table = Table("purpose", "state", "from", "until")
    table.add_column("key", overflow="fold")
    for key in found:
        table.add_row(
            text(key["purpose"]),
            text(key["state"], "green" if key["state"] == "ACTIVE" else "bold red"),
            text(key["not_before"]),
            text(key["not_after"] or "-"),
            text(key["keyid"]),
        )
    return [table]


def source(found: Source) -> list[RenderableType]:
    return [_pairs(found, skip=set())]


def policy(found: SignedPolicy) -> list[RenderableType]:
    return [
        _pairs(found, skip={"document", "envelope"}),
        text(json.dumps(found["document"], ensure_ascii=False, indent=2)),
    ]


def policy_history(found: PolicyHistory) -> list[RenderableType]:
    table = Table("at", "action", "by", "version")
    table.add_column("digest", overflow="fold")
    for change in found["changes"]:
        table.add_row(
            text(change["at"]),
            text(change["action"]),
            text(change["by"] or "a deployment"),
            text(change["version"] or "the service's default"),
            text(change["digest"] or "-"),
        )
    return [table]


def indexes(builds: Sequence[IndexBuild]) -> list[RenderableType]:
    table = Table("build", "space", "state", "versions", "chunks", "model", "statement")
    for build in builds:
        step = f" ({build['step']})" if build["step"] else ""
        table.add_row(
            text(build["build_id"]),
            text(build["space"]),
            text(f"{build['state']}{step}"),
            text(build["versions"]),
            text(build["chunks"]),
            text(build["model_revision"] or ""),
            text((build["statement_id"] or "")[:16]),
        )
    return [table]


def _statement(provenance: Provenance) -> str:
    payload = provenance["envelope"].get("payload", "")
    try:
        value = json.loads(base64.b64decode(str(payload), validate=True))
    except (ValueError, binascii.Error):
        return "The statement can't be read."
    return json.dumps(value, ensure_ascii=False, indent=2)


def trace(found: StoredAnswer) -> list[RenderableType]:
    gate = found["gate"]
    table = Table("#", "document", "source", "sha-256 of the passage", "passage")
    for item in found["evidence"]:
        if item["available"]:
            passage = text(snippet(item["text"] or ""))
        else:
            passage = text("no longer shown to this reader", "yellow")
        table.add_row(
            text(item["rank"]),
            text(f"{item['name'] or item['document_id']} v{item['version']}"),
            text(item["source_id"]),
            text(item["sha256"][:16]),
            passage,
        )
    verdict = gate["verdict"]
    return [
        text(verdict, _VERDICT_STYLE.get(verdict, "bold")),
        text(f"asked by {found['subject']} at {found['recorded_at']}"),
        text(f"score {_number(gate['score'])}, threshold {_number(gate['threshold'])}"
             f" ({gate['preset'] or 'given'}){', overridden' if gate['overridden'] else ''}"),
        text(f"reasons: {', '.join(gate['reasons'])}"),
        text(gate["explanation"]),
        _pairs(found["request"], skip=set()),
        *_attempts(found["attempts"]),
        table,
    ]  # fmt: skip


def _pairs(values: Mapping[str, object], *, skip: set[str]) -> Table:
    table = Table(show_header=False, box=None)
    for name, value in values.items():
        if value is None or name in skip:
            continue
        simple = isinstance(value, str | int | float)
        shown = value if simple else json.dumps(value, ensure_ascii=False)
        table.add_row(text(name, "bold"), text(shown))
    return table


def snippet(passage: str) -> str:
    line = " ".join(plain(passage).split())
    return line if len(line) <= SNIPPET else line[: SNIPPET - 1].rstrip() + "…"


def _leg(leg: LegScore | None) -> str:
    return "-" if leg is None else f"#{leg['rank']}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _signals(items: Sequence[Evidence]) -> list[RenderableType]:
    return [
        text(f"#{item['rank']} carries signals: {', '.join(item['signals'])}", "yellow")
        for item in items
        if item.get("signals")
    ]


def _degraded(reasons: Sequence[object]) -> list[RenderableType]:
    return [text(f"degraded: {', '.join(map(str, reasons))}", "yellow")] if reasons else []
