"""Each role holds what the table of roles says, and the table says what each role holds."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.architecture.roles import ROLES
from tests.architecture.template_facts import (
    as_list,
    document,
    functions,
    mappings,
    of_type,
    referenced,
    role,
)

FUNCTIONS = functions()
KINDS = {
    "AWS::DynamoDB::Table": ("table", "Table"),
    "AWS::SQS::Queue": ("queue", "Queue"),
    "AWS::KMS::Key": ("key", "Key"),
}
ONLY_THROUGH_S3 = {
    "StringEquals": {"kms:ViaService": {"Fn::Sub": "s3.${AWS::Region}.amazonaws.com"}}
}


def named(logical: str, function: str) -> str:
    """A resource of the template, as the table of roles calls it."""
    kind = document()["Resources"][logical]["Type"]
    if kind == "AWS::S3::Bucket":
        return "bucket"
    if kind == "AWS::Logs::LogGroup":
        assert logical == referenced(FUNCTIONS[function]["LoggingConfig"]["LogGroup"])
        return "logs"
    face, suffix = KINDS[kind]
    return f"{face}/{logical.removesuffix(suffix).lower()}"


def short(resource: Any, function: str) -> str:
    if resource == "*":
        return "*"
    if "Fn::GetAtt" in resource:
        logical, attribute = resource["Fn::GetAtt"]
        assert attribute == "Arn"
        return named(logical, function)
    text = resource["Fn::Sub"]
    if text.startswith("${OpenSearchDomainArn}/"):
        path = text.removeprefix("${OpenSearchDomainArn}/")
        return f"domain/{path.replace('${AWS::StackName}', '<stack>')}"
    logical, below = re.fullmatch(r"\$\{(\w+)\.Arn\}(/.+)", text).groups()  # type: ignore[union-attr]  # no other form is known
    return named(logical, function) + below


def held(function: str) -> set[tuple[str, str]]:
    """(action, resource) pairs of the function's role."""
    pairs: set[tuple[str, str]] = set()
    for policy in role(FUNCTIONS[function])["Policies"]:
        for each in policy["PolicyDocument"]["Statement"]:
            conditional = "Fn::If" in each
            if conditional:
                condition, each, otherwise = each["Fn::If"]
                assert (condition, otherwise) == ("HasDomain", {"Ref": "AWS::NoValue"})
            assert each["Effect"] == "Allow"
            assert set(each) <= {"Effect", "Action", "Resource", "Condition"}
            through_s3 = each.get("Condition") == ONLY_THROUGH_S3
            assert through_s3 or "Condition" not in each
            for resource in as_list(each["Resource"]):
                name = short(resource, function) + (" via s3" if through_s3 else "")
                assert conditional == name.startswith("domain/"), name
                pairs |= {(action, name) for action in as_list(each["Action"])}
    return pairs


def test_the_table_has_a_role_for_each_function() -> None:
    assert set(ROLES) == set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_role_holds_what_the_table_says_and_nothing_else(function: str) -> None:
    told = {(action, name) for action, names in ROLES[function].items() for name in names}
    assert held(function) == told


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_role_is_one_functions_and_is_all_that_it_has(function: str) -> None:
    mine = referenced(FUNCTIONS[function]["Role"])
    assert [name for name, each in FUNCTIONS.items() if referenced(each["Role"]) == mine] == [
        function
    ]
    assert set(role(FUNCTIONS[function])) == {"AssumeRolePolicyDocument", "Policies"}
    (trusted,) = role(FUNCTIONS[function])["AssumeRolePolicyDocument"]["Statement"]
    assert trusted["Principal"] == {"Service": "lambda.amazonaws.com"}
    # What SAM makes of these grants more than they say.
    assert not {"Policies", "PermissionsBoundary"} & set(FUNCTIONS[function])
    kinds = {event["Type"] for event in FUNCTIONS[function].get("Events", {}).values()}
    assert kinds <= {"Api"}


def test_no_other_resource_grants_anything_to_a_role() -> None:
    assert len(of_type("AWS::IAM::Role")) == len(FUNCTIONS)
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"):
        assert not of_type(kind)


@pytest.mark.parametrize("function", mappings())
def test_what_takes_a_queues_messages_may_take_them_from_that_queue_alone(function: str) -> None:
    queue = named(referenced(mappings()[function]["EventSourceArn"]), function)
    for action in ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"):
        assert ROLES[function][action] == {queue}
    others = set(ROLES) - set(mappings())
    assert not [name for name in others if "sqs:ReceiveMessage" in ROLES[name]]


# What the table itself must hold, whatever is added to it.


def holders(action: str, resource: str) -> set[str]:
    return {name for name, rights in ROLES.items() if resource in rights.get(action, ())}


@pytest.mark.parametrize("action", ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"])
def test_only_a_deployment_and_governors_write_trust(action: str) -> None:
    assert holders(f"dynamodb:{action}", "table/trust") <= {"bootstrap", "govern"}


def test_what_meets_hostile_bytes_or_vectors_writes_no_head() -> None:
    for name in ("parse", "embed"):
        tables = {
            resource
            for action, names in ROLES[name].items()
            if action.startswith("dynamodb:")
            for resource in names
        }
        assert tables == {"table/work"}


def test_no_record_is_deleted_and_none_replaced_whole() -> None:
    """What is erased is stripped, on the revision that was read."""
    for table in ("trust", "ledger", "work", "builds"):
        for action in ("PutItem", "DeleteItem", "BatchWriteItem"):
            assert not holders(f"dynamodb:{action}", f"table/{table}")


def test_only_publication_may_sign_evidence_and_only_governance_policies() -> None:
    signers = {
        (name, resource)
        for name, rights in ROLES.items()
        for resource in rights.get("kms:Sign", ())
    }
    assert signers == {
        ("publish", "key/ingestion"),
        ("bootstrap", "key/policy"),
        ("govern", "key/policy"),
        ("rebuild", "key/index"),
    }


def test_only_what_lists_may_query_and_only_what_lists_over_documents_an_index() -> None:
    querying = {
        name: rights["dynamodb:Query"]
        for name, rights in ROLES.items()
        if "dynamodb:Query" in rights
    }
    assert querying == {
        "documents": {"table/trust", "table/ledger", "table/ledger/index/gsi1", "table/work"},
        "accept": {"table/work"},
        "publish": {"table/work"},
        "propagate": {"table/builds"},
        "expire": {"table/work/index/gsi1"},
        "govern": {"table/trust", "table/trust/index/gsi1", "table/builds"},
        "rebuild": {"table/work", "table/builds"},
    }
    scanning = [name for name, rights in ROLES.items() if "dynamodb:Scan" in rights]
    assert scanning == ["rebuild"]  # every head of a tenant, strongly consistent


def test_what_builds_an_index_writes_nothing_of_what_is_live_or_on_its_way() -> None:
    written = {
        resource
        for action in ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem")
        for resource in ROLES["rebuild"].get(f"dynamodb:{action}", ())
    }
    assert written == {"table/builds"}
    assert holders("dynamodb:UpdateItem", "table/builds") == {"govern", "rebuild"}


def test_what_meets_hostile_files_reaches_no_key_and_no_index() -> None:
    for name in ("parse", "embed"):
        assert not [action for action in ROLES[name] if action.startswith("es:")]
    for name in ("accept", "parse", "embed"):
        assert "kms:Sign" not in ROLES[name]


@pytest.mark.parametrize("reader", ["documents", "accept", "query", "gate", "health"])
def test_a_reader_of_the_index_can_change_nothing_in_it(reader: str) -> None:
    calls = {
        (action, resource)
        for action, names in ROLES[reader].items()
        if action.startswith("es:")
        for resource in names
    }
    assert calls
    assert {action for action, _ in calls} <= {"es:ESHttpGet", "es:ESHttpPost"}
    assert {resource for action, resource in calls if action == "es:ESHttpPost"} <= {
        "domain/_msearch",
        "domain/<stack>-*/_search",
    }
    assert not re.search(r"_bulk|_by_query", json.dumps(sorted(calls)))
