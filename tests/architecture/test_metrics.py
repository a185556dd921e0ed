"""Alarms watch metrics that are really written, under the dimensions that they are written with."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence

import pytest

from custody.application.ingestion.accept_drop import DropResult
from custody.counts import NAMESPACE, emit
from custody.domain.model import Outcome
from custody.domain.ranking.sufficiency import Verdict
from custody_local.paths import ROOT
from tests.architecture.template_facts import functions, of_type, variables

ALARMS = {
    name: alarm
    for name, alarm in of_type("AWS::CloudWatch::Alarm").items()
    if alarm["Namespace"] == NAMESPACE
}
HANDLERS = [*(ROOT / "functions").glob("*/app.py"), ROOT / "layers/core/custody/batches.py"]
STACK = {"Ref": "AWS::StackName"}


def written() -> set[str]:
    """Names that handlers count under: those made of an enumeration, and literal ones."""
    found = {outcome.value for outcome in Outcome}
    found |= {f"Drop{result.value.capitalize()}" for result in DropResult}
    found |= {f"Verdict_{v.value}" for v in (Verdict.ANSWERABLE, Verdict.INSUFFICIENT)}
    for path in HANDLERS:
        found |= set(literal_names(ast.parse(path.read_text("utf-8"))))
    return found


def counts_are(returned: ast.expr) -> bool:
    """What a queue's record handler returns is counted."""
    return ast.unparse(returned) == "Mapping[str, float]"


def literal_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        keys: Sequence[ast.AST | None] = ()
        match node:
            case ast.keyword(arg="counts", value=ast.Dict(keys=told)):
                keys = told
            case ast.FunctionDef(returns=ast.expr() as returned) if counts_are(returned):
                keys = [
                    key
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Dict)
                    for key in inner.value.keys
                ]
            case ast.Subscript(value=ast.Name(id="counts"), slice=name):
                keys = (name,)
        for key in keys:
            for part in (key.body, key.orelse) if isinstance(key, ast.IfExp) else (key,):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_there_is_an_alarm_for_what_is_tampered_and_for_what_is_unverified() -> None:
    assert {alarm["MetricName"] for alarm in ALARMS.values()} == {
        Outcome.TAMPERED.value,
        Outcome.UNVERIFIED.value,
    }


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_has_the_dimensions_that_are_written(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for function in functions().values():
        assert variables(function)["POWERTOOLS_SERVICE_NAME"] == STACK
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "mine")
    emit("query", {ALARMS[name]["MetricName"]: 1})
    line = json.loads(capsys.readouterr().out)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == ALARMS[name]["Namespace"]
    dimensions = ALARMS[name]["Dimensions"]
    assert [dimension["Name"] for dimension in dimensions] in directive["Dimensions"]
    assert [dimension["Value"] for dimension in dimensions] == [STACK]
    assert line["service"] == "mine"


def test_the_documented_metrics_are_those_that_are_written() -> None:
    told = (ROOT / "docs/operations.md").read_text("utf-8").partition("## Metrics")[2]
    rows = [row for row in told.partition("\n## ")[0].splitlines() if row.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])} == written()
