"""What each function's role may do, and to what: written by hand, and held against the template.

A resource goes by a short name: ``table/work``, ``table/ledger/index/gsi1``, ``queue/parse``,
``key/policy``, ``key/data via s3`` (only through S3), ``bucket``, ``bucket/raw/*``, ``logs`` (the
function's own group), ``domain/…`` (a path of the OpenSearch domain; granted only where the stack
has one; ``<stack>`` begins the names of its indices), ``*`` for what AWS knows no resource of.
"""

from __future__ import annotations

from collections.abc import Mapping

type Rights = Mapping[str, frozenset[str]]


def _of(*granted: Mapping[str, str]) -> Rights:
    """Action to resources; each value is a list of names, separated by blanks."""
    rights: dict[str, frozenset[str]] = {}
    for each in granted:
        for action, names in each.items():
            found = frozenset(names.replace(" via s3", "+via+s3").split())
            found = frozenset(name.replace("+", " ") for name in found)
            rights[action] = rights.get(action, frozenset()) | found
    return rights


EVERY = {
    "logs:CreateLogStream": "logs",
    "logs:PutLogEvents": "logs",
    "xray:PutTraceSegments": "*",
    "xray:PutTelemetryRecords": "*",
}
REPEATS = {
    "dynamodb:GetItem": "table/idempotency",
    "dynamodb:PutItem": "table/idempotency",
    "dynamodb:UpdateItem": "table/idempotency",
    "dynamodb:DeleteItem": "table/idempotency",
}
COUNTS = {
    "es:ESHttpGet": "domain/ domain/<stack>-*/_alias",
    "es:ESHttpPost": "domain/<stack>-*/_search",
}
SEARCHES = {
    "es:ESHttpGet": "domain/ domain/<stack>-*/_alias domain/<stack>-*/_mapping",
    "es:ESHttpPost": "domain/_msearch",
}


def _takes(queue: str) -> Mapping[str, str]:
    return dict.fromkeys(
        ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"), f"queue/{queue}"
    )


ROLES: Mapping[str, Rights] = {
    "authorize": _of(EVERY),
    "documents": _of(
        EVERY,
        REPEATS,
        COUNTS,
        {
            "dynamodb:GetItem": "table/trust table/ledger table/work",
            "dynamodb:BatchGetItem": "table/revocations table/trust table/ledger table/work",
            "dynamodb:Query": "table/trust table/ledger table/ledger/index/gsi1 table/work",
            "dynamodb:UpdateItem": "table/ledger table/work",
            "s3:PutObject": "bucket/raw/* bucket/incoming/*",
            "kms:GenerateDataKey": "key/data via s3",
            "sqs:SendMessage": "queue/parse queue/publish",
        },
    ),
    "accept": _of(
        EVERY,
        COUNTS,
        _takes("ingest"),
        {
            "dynamodb:GetItem": "table/trust table/ledger table/work",
            "dynamodb:BatchGetItem": "table/ledger table/work",
            "dynamodb:Query": "table/work",
            "dynamodb:UpdateItem": "table/ledger table/work",
            "s3:GetObject": "bucket/incoming/*",
            # of what was copied the size is read, where S3's own answer left it open
            "s3:GetObjectVersion": "bucket/incoming/* bucket/rejected/*",
            "s3:PutObject": "bucket/raw/* bucket/rejected/*",
            "s3:ListBucket": "bucket",
            "kms:Decrypt": "key/data via s3",
            "kms:GenerateDataKey": "key/data via s3",
            "sqs:SendMessage": "queue/parse queue/publish queue/erase",
        },
    ),
    "parse": _of(
        EVERY,
        _takes("parse"),
        {
            "dynamodb:GetItem": "table/work",
            "dynamodb:BatchGetItem": "table/work",
            "dynamodb:UpdateItem": "table/work",
            "s3:GetObjectVersion": "bucket/raw/*",
            "s3:PutObject": "bucket/evidence/* bucket/rejected/*",
            "s3:DeleteObject": "bucket/evidence/* bucket/rejected/*",
            "s3:DeleteObjectVersion": "bucket/evidence/* bucket/rejected/*",
            "s3:ListBucket": "bucket",
            "s3:ListBucketVersions": "bucket",
            "kms:Decrypt": "key/data via s3",
            "kms:GenerateDataKey": "key/data via s3",
            "sqs:SendMessage": "queue/embed queue/publish",
        },
    ),
    "embed": _of(
        EVERY,
        _takes("embed"),
        {
            "dynamodb:GetItem": "table/work",
            "dynamodb:UpdateItem": "table/work",
            "s3:GetObjectVersion": "bucket/evidence/*",
            "s3:PutObject": "bucket/vectors/*",
            "s3:DeleteObject": "bucket/vectors/*",
            "s3:DeleteObjectVersion": "bucket/vectors/*",
            "s3:ListBucket": "bucket",
            "s3:ListBucketVersions": "bucket",
            "kms:Decrypt": "key/data via s3",
            "kms:GenerateDataKey": "key/data via s3",
            "sqs:SendMessage": "queue/publish",
        },
    ),
    "publish": _of(
        EVERY,
        _takes("publish"),
        {
            "dynamodb:GetItem": "table/trust table/ledger table/work",
            "dynamodb:BatchGetItem": "table/ledger table/work",
            "dynamodb:Query": "table/work",
            "dynamodb:UpdateItem": "table/ledger table/work",
            "s3:GetObject": "bucket/vectors/*",
            "s3:GetObjectVersion": "bucket/evidence/* bucket/vectors/*",
            "s3:ListBucket": "bucket",
            "kms:Decrypt": "key/data via s3",
            "kms:GetPublicKey": "key/ingestion",
            "kms:Sign": "key/ingestion",
            "sqs:SendMessage": "queue/publish queue/rebuild",
            "es:ESHttpGet": "domain/ domain/<stack>-*/_mapping",
            "es:ESHttpPut": "domain/<stack>-*-0",
            "es:ESHttpPost": "domain/_bulk domain/<stack>-*/_search domain/<stack>-*/_refresh "
            "domain/<stack>-*/_update_by_query domain/<stack>-*/_delete_by_query",
        },
    ),
    "rebuild": _of(
        EVERY,
        _takes("rebuild"),
        {
            "dynamodb:GetItem": "table/trust table/ledger table/work table/builds",
            "dynamodb:BatchGetItem": "table/builds",
            "dynamodb:Query": "table/work table/builds",
            "dynamodb:Scan": "table/ledger",
            "dynamodb:UpdateItem": "table/builds",
            "s3:GetObject": "bucket/vectors/*",
            "s3:GetObjectVersion": "bucket/evidence/* bucket/vectors/*",
            "s3:PutObject": "bucket/vectors/*",
            "s3:DeleteObject": "bucket/vectors/*",
            "s3:DeleteObjectVersion": "bucket/vectors/*",
            "s3:ListBucket": "bucket",
            "s3:ListBucketVersions": "bucket",
            "kms:Decrypt": "key/data via s3",
            "kms:GenerateDataKey": "key/data via s3",
            "kms:GetPublicKey": "key/index",
            "kms:Sign": "key/index",
            "sqs:SendMessage": "queue/rebuild",
            "es:ESHttpGet": "domain/ domain/<stack>-*/_alias domain/<stack>-*/_mapping",
            "es:ESHttpPut": "domain/<stack>-*",
            "es:ESHttpDelete": "domain/<stack>-*",
            "es:ESHttpPost": "domain/_aliases domain/_bulk domain/<stack>-*/_search "
            "domain/<stack>-*/_refresh domain/<stack>-*/_delete_by_query",
        },
    ),
    "query": _of(
        EVERY,
        SEARCHES,
        {
            "dynamodb:GetItem": "table/trust",
            "dynamodb:BatchGetItem": "table/revocations table/trust table/ledger",
            "dynamodb:PutItem": "table/traces",
        },
    ),
    "gate": _of(
        EVERY,
        SEARCHES,
        {
            "dynamodb:GetItem": "table/trust table/work table/traces",
            "dynamodb:BatchGetItem": "table/revocations table/trust table/ledger",
            "dynamodb:PutItem": "table/traces",
            "s3:GetObjectVersion": "bucket/evidence/*",
            "s3:ListBucket": "bucket",
            "kms:Decrypt": "key/data via s3",
        },
    ),
    "erase": _of(
        EVERY,
        REPEATS,
        {
            "dynamodb:GetItem": "table/ledger table/work",
            "dynamodb:BatchGetItem": "table/revocations table/trust table/ledger",
            "dynamodb:UpdateItem": "table/ledger",
            "sqs:SendMessage": "queue/erase",
        },
    ),
    "propagate": _of(
        EVERY,
        _takes("erase"),
        {
            "dynamodb:GetItem": "table/ledger table/work",
            "dynamodb:BatchGetItem": "table/ledger table/work",
            "dynamodb:Query": "table/builds",
            "dynamodb:UpdateItem": "table/ledger table/work",
            "s3:GetObject": "bucket/incoming/*",
            **dict.fromkeys(
                ("s3:DeleteObject", "s3:DeleteObjectVersion"),
                "bucket/incoming/* bucket/raw/* bucket/evidence/* bucket/vectors/* "
                "bucket/rejected/*",
            ),
            "s3:ListBucket": "bucket",
            "s3:ListBucketVersions": "bucket",
            "kms:Decrypt": "key/data via s3",
            "es:ESHttpGet": "domain/ domain/<stack>-*/_mapping",
            "es:ESHttpPost": "domain/<stack>-*/_search domain/<stack>-*/_refresh "
            "domain/<stack>-*/_delete_by_query",
        },
    ),
    "expire": _of(
        EVERY,
        {
            "dynamodb:GetItem": "table/work",
            "dynamodb:BatchGetItem": "table/work",
            "dynamodb:Query": "table/work/index/gsi1",
            "dynamodb:UpdateItem": "table/work",
            **dict.fromkeys(
                ("s3:DeleteObject", "s3:DeleteObjectVersion"),
                "bucket/raw/* bucket/evidence/* bucket/vectors/*",
            ),
            "s3:ListBucketVersions": "bucket",
            "es:ESHttpGet": "domain/ domain/<stack>-*/_mapping",
            "es:ESHttpPost": "domain/<stack>-*/_search domain/<stack>-*/_refresh "
            "domain/<stack>-*/_delete_by_query",
        },
    ),
    "govern": _of(
        EVERY,
        REPEATS,
        {
            "dynamodb:GetItem": "table/trust table/revocations table/builds",
            "dynamodb:BatchGetItem": "table/trust table/revocations table/builds",
            "dynamodb:Query": "table/trust table/trust/index/gsi1 table/builds",
            "dynamodb:UpdateItem": "table/trust table/revocations table/builds",
            "kms:GetPublicKey": "key/policy",
            "sqs:SendMessage": "queue/rebuild",
            "kms:Sign": "key/policy",
        },
    ),
    "health": _of(
        EVERY,
        {
            "dynamodb:GetItem": "table/trust table/ledger table/work",
            "es:ESHttpGet": "domain/",
        },
    ),
    "bootstrap": _of(
        EVERY,
        {
            "dynamodb:GetItem": "table/trust table/ledger table/work",
            "dynamodb:BatchGetItem": "table/revocations table/trust table/ledger table/work",
            "dynamodb:UpdateItem": "table/trust table/ledger table/work",
            "kms:GetPublicKey": "key/ingestion key/policy key/index",
            "kms:Sign": "key/policy",
        },
    ),
}
