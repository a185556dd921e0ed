"""Every code that is raised is in the one docstring of the error tree, and no other one is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import custody.errors as errors
from custody.domain.ledger.sources import SourceFault
from custody_local.paths import ROOT

KEBAB = re.compile(r"\b[a-z0-9]+(?:-[a-z0-9]+)+\b")
# Looked up by a source's state.
MADE = {SourceFault.QUARANTINED.value, SourceFault.RETIRED.value}


def documented() -> dict[str, set[str]]:
    """Class to codes, from the table's third column."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"``(\w+)``", line):
            name = match[1]
        if name and not line.startswith("="):
            found.setdefault(name, set()).update(KEBAB.findall(line[31:]))
    return found


def raised() -> Iterator[tuple[str, str]]:
    """(class, code) of every ``code=`` in the product that is a literal or a ``SourceFault``. A
    table's code is Unavailable's."""
    product = [*(ROOT / "layers/core/custody").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
    for path in product:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2].replace("Table", "Unavailable")
            for keyword in node.keywords:
                code = _code(keyword.value) if keyword.arg == "code" else None
                if code is not None and isinstance(getattr(errors, name, None), type):
                    yield name, code


def _code(value: ast.expr) -> str | None:
    if isinstance(value, ast.Constant):
        return str(value.value)
    if isinstance(value, ast.Attribute) and ast.unparse(value.value) == "SourceFault":
        return SourceFault[value.attr].value
    return None


def defaults() -> set[tuple[str, str]]:
    return {
        (name, kind.default_code)
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.CustodyError)
    } - {("CustodyError", "internal")}


def test_what_is_raised_is_documented_under_its_class() -> None:
    told = documented()
    missing = {
        (name, code)
        for name, code in {*raised(), *defaults()}
        if "-" in code and code not in told.get(name, set())
    }
    assert missing == set()


def test_what_is_documented_is_raised_somewhere() -> None:
    known = {code for _, code in {*raised(), *defaults()}} | MADE
    assert {code for codes in documented().values() for code in codes} <= known


def test_operations_tells_each_503_that_a_caller_can_meet() -> None:
    never_told = {
        "signer-unavailable",
        "parser-unavailable",
        "erasure-partial",
        "expiry-partial",
        "build-busy",
    }
    told = (ROOT / "docs/operations.md").read_text("utf-8").partition("## Codes of 503")[2]
    rows = [row for row in told.partition("\n## ")[0].splitlines() if row.startswith("| `")]
    listed = {code for row in rows for code in re.findall(r"`([\w-]+)`", row.split("|")[1])}
    assert listed >= documented()["Unavailable"] - never_told
    assert listed <= documented()["Unavailable"]
