"""Builds of indices, in a table of their own: who governs and who builds may write it, and neither
needs a right to write what is live or on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.calls import Table
from custody.adapters.dynamodb.writes import write
from custody.domain.index.builds import IndexBuild
from custody.domain.ledger import transitions
from custody.domain.model import BuildKey


class DynamoBuilds:
    """``Builds``."""

    def __init__(self, builds: Table) -> None:
        self._builds = builds

    def build(self, key: BuildKey) -> IndexBuild | None:
        stored = rows.load(IndexBuild, self._builds.get(layout.build(key)))
        return stored.value if stored else None

    def builds(self, tenant: str) -> Sequence[IndexBuild]:
        bodies: list[str] = []
        resume: dict[str, object] = {}
        while True:
            reply = self._builds.query(
                KeyConditionExpression="pk = :pk AND begins_with(sk, :kind)",
                ExpressionAttributeValues={
                    ":pk": {"S": layout.build(BuildKey(tenant, "")).pk},
                    ":kind": {"S": layout.BUILD},
                },
                ConsistentRead=True,
                **resume,
            )
            bodies += [item["body"]["S"] for item in reply["Items"]]
            if "LastEvaluatedKey" not in reply:
                return tuple(codec.load_many(IndexBuild, bodies))
            resume = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def put_build(self, build: IndexBuild) -> IndexBuild:
        after = replace(build, revision=build.revision + 1)
        if not write(rows.build_row(self._builds, after)):
            raise transitions.moved("build of the index")
        return after
