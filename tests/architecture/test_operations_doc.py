"""docs/operations.md names each parameter, table, queue and kind of alarm that the template makes."""

from __future__ import annotations

import json
import re

import pytest

from custody_local.paths import ROOT
from tests.architecture.template_facts import document, of_type

TEXT = (ROOT / "docs/operations.md").read_text("utf-8")


def suffix(name: object) -> str:
    """``-ledger`` of ``${AWS::StackName}-ledger``."""
    return json.dumps(name).partition("${AWS::StackName}")[2].partition('"')[0]


@pytest.mark.parametrize("name", document()["Parameters"])
def test_each_parameter_is_explained(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("name", [suffix(t["TableName"]) for t in of_type("AWS::DynamoDB::Table").values()])  # fmt: skip
def test_each_table_is_explained(name: str) -> None:
    assert f"`<stack>{name}`" in TEXT


@pytest.mark.parametrize("name", [suffix(q["QueueName"]) for q in of_type("AWS::SQS::Queue").values()])  # fmt: skip
def test_each_queue_is_explained(name: str) -> None:
    working = name.removesuffix("-dlq")
    assert re.search(rf"`(?:<stack>)?{working}`", TEXT)


@pytest.mark.parametrize(
    "name", [suffix(a["AlarmName"]) for a in of_type("AWS::CloudWatch::Alarm").values()]
)
def test_each_alarm_says_what_to_do(name: str) -> None:
    general = name.lstrip("-")
    for kind, of in (("dead-letters", "queue"), ("backlog", "queue"), ("errors", "function")):
        if general.endswith(f"-{kind}"):
            general = f"<{of}>-{kind}"
    assert f"| `{general}` |" in TEXT
