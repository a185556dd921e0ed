"""The JSON of each reply is the recorded one, and what the OpenAPI document tells of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from custody.domain.model import Leg
from custody.http.schemas.evidence import EvidenceScoresReply
from tests.support.functions import ROOT
from tests.support.replies import SAMPLES, replies, sample

NAMES = sorted(path.stem for path in SAMPLES.glob("*.json"))
DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    return dict(replies())


def test_each_reply_has_its_sample(now: dict[str, Any]) -> None:
    assert sorted(now) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_is_as_recorded(now: dict[str, Any], name: str) -> None:
    again = "changed on purpose? run: python -m tests.support.replies, and read the diff"
    assert comparable(now[name]) == comparable(sample(name)), again


def comparable(value: object) -> object:
    """With the order of keys, and numbers as exact as every machine has them."""
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, dict):
        return [(name, comparable(item)) for name, item in value.items()]
    return value


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_is_what_the_document_says(name: str) -> None:
    told = sample(name)
    method, path = told["endpoint"].split()
    responses = DOCUMENT["paths"][path][method.lower()]["responses"]
    response = responses.get(str(told["status"]), responses["default"])
    (content,) = response["content"].values()
    whole = {**content["schema"], "components": DOCUMENT["components"]}
    Draft202012Validator(whole).validate(told["body"])


@pytest.mark.parametrize("name", ["search", "answer", "stored-answer"])
def test_only_an_auditor_is_told_what_was_withheld_and_what_the_legs_said(name: str) -> None:
    reader, auditor = (json.dumps(sample(each)["body"]) for each in (name, f"{name}-as-auditor"))
    assert '"withheld":' in auditor
    assert '"withheld":' not in reader
    assert '"outcomes":' not in reader
    assert '{"rank": 1, "score":' not in reader


def test_each_leg_has_its_place_in_the_scores() -> None:
    assert {leg.value for leg in Leg} <= EvidenceScoresReply.__annotations__.keys()
