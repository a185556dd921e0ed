"""No store without a word on what an erasure does there."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Protocol, get_type_hints

import pytest

import custody.application
from custody.adapters.dynamodb import layout
from custody.application.erasure.places import Place
from custody.domain.model import BuildKey, DocumentKey, SourceKey
from custody.domain.storage import object_keys
from tests.architecture import template_facts
from tests.architecture.erasure_of_stores import STORES
from tests.support.ingest_world import World
from tests.support.ledger_items import ITEMS

KEPT_BY = {
    "AWS::DynamoDB::Table": ("table", "TableName"),
    "AWS::S3::Bucket": ("bucket", "BucketName"),
    "AWS::SQS::Queue": ("queue", "QueueName"),
}
LOGS = "AWS::Logs::LogGroup"
KEEPING_NOTHING = {
    "AWS::CloudWatch::Alarm",
    "AWS::Events::Rule",
    "AWS::IAM::Role",
    "AWS::KMS::Key",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Permission",
    "AWS::S3::BucketPolicy",
    "AWS::SQS::QueuePolicy",
    "AWS::Serverless::Api",
    "AWS::Serverless::Function",
    "AWS::Serverless::LayerVersion",
    "Custom::CustodyBootstrap",
}
# What a port does without keeping anything. Every other method counts as a write.
READING = {
    "acl_revisions", "against", "build", "builds", "chunk", "control", "count", "cursor_after", "dimensions",
    "drop", "embed_passages", "find", "packaged_policies", "superseded_through", "trust_changes",
    "embed_query", "erasure", "exists", "find_drops", "gate", "get", "head", "hold", "list_heads",
    "list_sources", "name", "new", "now", "open", "other", "own", "parse", "ping", "refresh", "rerank", "sample",
    "reputation", "revision", "scan_heads", "seal", "search", "sign", "source", "source_changes", "verification_key", "verify",
    "page_secret", "trust_view", "version", "versions", "view",
}  # fmt: skip
EXAMPLES = {
    DocumentKey: DocumentKey("acme", "guide"),
    SourceKey: SourceKey("acme", "wiki"),
    BuildKey: BuildKey("acme", "live-1"),
    str: "name",
    int: 1,
}


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def _ports_that_write() -> set[str]:
    return {
        f"port/{name}"
        for module in _modules(custody.application)
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        and Protocol in kind.__bases__
        and kind is not Place
        and {own for own in vars(kind) if not own.startswith("_")} - READING
    }


def _functions(module: ModuleType, returning: type) -> Iterator[Callable[..., Any]]:
    for _, function in inspect.getmembers(module, inspect.isfunction):
        public = function.__module__ == module.__name__ and not function.__name__.startswith("_")
        if public and get_type_hints(function).get("return") is returning:
            yield function


def _example_of(function: Callable[..., Any]) -> Any:
    hints = get_type_hints(function)
    return function(*(EXAMPLES[hints[name]] for name in inspect.signature(function).parameters))


def _prefixes_of_keys() -> set[str]:
    """``folder`` takes the kind that the others name."""
    return {
        f"prefix/{_example_of(function).partition('/')[0]}"
        for function in _functions(object_keys, str)
        if function is not object_keys.folder
    }


def _prefixes_that_may_be_written() -> set[str]:
    return {
        f"prefix/{arn['Fn::Sub'].split('/')[1]}"
        for function in template_facts.functions().values()
        for statement in template_facts.statements(function)
        if set(template_facts.as_list(statement["Action"])) & {"s3:PutObject", "s3:*", "*"}
        for arn in template_facts.as_list(statement["Resource"])
    }


def _items() -> set[str]:
    return {f"item/{function.__name__}" for function in _functions(layout, layout.Key)}


def _resources() -> set[str]:
    faces = {"logs"} if template_facts.of_type(LOGS) else set()
    for kind, (face, name) in KEPT_BY.items():
        for resource in template_facts.of_type(kind).values():
            stated = resource[name]["Fn::Sub"].removeprefix("${AWS::StackName}-")
            faces.add(f"{face}/{stated.removesuffix('-${AWS::AccountId}')}")
    return faces


def test_every_store_says_what_an_erasure_does_there_and_none_is_made_up() -> None:
    told = [face for store in STORES for face in store.faces]
    assert len(told) == len(set(told))
    found = (
        _ports_that_write()
        | _prefixes_of_keys()
        | _prefixes_that_may_be_written()
        | _items()
        | _resources()
    )
    assert set(told) == found, (
        "Name the store in tests/architecture/erasure_of_stores.py, with the place that visits it or"
        " the reason why none does; a method of a port that keeps nothing, in READING above."
    )


def test_some_function_may_write_under_each_prefix_and_under_no_other() -> None:
    assert _prefixes_that_may_be_written() == _prefixes_of_keys()


@pytest.mark.parametrize("action", ["s3:DeleteObject", "s3:DeleteObjectVersion"])
def test_an_erasure_may_delete_under_each_prefix(action: str) -> None:
    allowed = {
        f"prefix/{arn['Fn::Sub'].split('/')[1]}"
        for statement in template_facts.statements(template_facts.functions()["propagate"])
        if action in template_facts.as_list(statement["Action"])
        for arn in template_facts.as_list(statement["Resource"])
    }
    assert allowed == _prefixes_of_keys()


def test_every_kind_of_item_has_a_table_of_the_ledger() -> None:
    assert {f"item/{name}" for name in ITEMS} == _items()
    assert {f"table/{table}" for tables, _ in ITEMS.values() for table in tables} <= _resources()


def test_every_kind_of_resource_is_known_to_keep_data_or_not() -> None:
    kinds = {resource["Type"] for resource in template_facts.document()["Resources"].values()}
    assert kinds == {*KEPT_BY, LOGS} | KEEPING_NOTHING


def test_a_store_is_visited_or_has_a_reason() -> None:
    for store in STORES:
        assert bool(store.places) != bool(store.exempt), store.faces


def test_the_places_that_stores_name_are_those_that_an_erasure_visits() -> None:
    visited = [place.name for place in World().service.propagate_erasure.places]
    assert visited[0] == "ledger/versions"
    assert len(visited) == len(set(visited))
    assert set(visited) == {place for store in STORES for place in store.places}
