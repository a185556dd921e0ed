"""The real ports, from the environment. Everything is made once for each container.

Imports stay inside the factories: a function then loads only what its own use case needs, which
keeps a cold start short.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from custody import settings as env
from custody.adapters.system_clock import RandomIdentifiers, SystemClock
from custody.domain.model import Leg
from custody.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

    from custody.adapters.dynamodb import Table
    from custody.adapters.opensearch_index import OpenSearchIndex
    from custody.adapters.sqlite_index import SqliteIndex
    from custody.application.idempotency import Idempotency
    from custody.application.indexing.pace import BuildPace
    from custody.application.ports import (
        Authorizer,
        Builds,
        Chunker,
        Embedder,
        ErasureWork,
        EvidenceIndex,
        Heads,
        IndexWork,
        Jobs,
        Judge,
        Ledger,
        ObjectStore,
        Parser,
        PolicyStore,
        RebuildableIndex,
        Reranker,
        Rewriter,
        Signer,
        TraceStore,
        Trust,
        Verifier,
        Work,
    )
    from custody.domain.text.embedding_model import EmbeddingModel

_MODEL_PACKAGE = "custody_model"
_OTHER_MODEL_PACKAGE = "custody_other_model"


class EnvironmentPorts:
    def __init__(self, environment: env.Environment) -> None:
        self._env = environment
        self.clock = SystemClock()
        self.identifiers = RandomIdentifiers()
        self._signers: dict[str, Signer] = {}
        self._jobs: dict[tuple[str, ...], Jobs] = {}

    @cached_property
    def _dynamodb(self) -> DynamoDBClient:
        from custody.adapters.dynamodb import connect

        return connect()

    @cached_property
    def authorizer(self) -> Authorizer:
        from custody.adapters.oidc import TokenAuthorizer

        chosen = self._env(env.TokenSettings)
        return TokenAuthorizer(
            issuer=chosen.issuer,
            audience=chosen.audience,
            clock=self.clock,
            tenant_claim=chosen.tenant_claim,
            jwks_url=chosen.jwks_url,
        )

    def _table(self, name: str) -> Table:
        from custody.adapters.dynamodb import Table

        return Table(self._dynamodb, name, code="ledger-unavailable")

    @cached_property
    def _trust(self) -> Table:
        return self._table(self._env(env.TrustSettings).trust_table)

    def _revocations(self) -> Table:
        return self._table(self._env(env.RevocationSettings).revocations_table)

    @cached_property
    def _ledger(self) -> Table:
        return self._table(self._env(env.LedgerSettings).ledger_table)

    @cached_property
    def _work(self) -> Table:
        return self._table(self._env(env.WorkSettings).work_table)

    @cached_property
    def trust(self) -> Trust:
        from custody.adapters.dynamodb import DynamoTrust

        return DynamoTrust(self._trust, self._revocations)

    @cached_property
    def heads(self) -> Heads:
        from custody.adapters.dynamodb import DynamoHeads

        return DynamoHeads(self._trust, self._revocations, self._ledger)

    @cached_property
    def work(self) -> Work:
        from custody.adapters.dynamodb import DynamoWork

        return DynamoWork(self._work)

    @cached_property
    def erasures(self) -> ErasureWork:
        from custody.adapters.dynamodb import DynamoErasureWork

        return DynamoErasureWork(self._ledger, self._work)

    @cached_property
    def builds(self) -> Builds:
        from custody.adapters.dynamodb import DynamoBuilds

        return DynamoBuilds(self._table(self._env(env.BuildSettings).builds_table))

    @cached_property
    def index_work(self) -> IndexWork:
        from custody.adapters.dynamodb import DynamoIndexWork

        return DynamoIndexWork(self._trust, self._ledger, self._work)

    @cached_property
    def ledger(self) -> Ledger:
        from custody.adapters.dynamodb import DynamoLedger

        return DynamoLedger(self._trust, self._revocations, self._ledger, self._work)

    @cached_property
    def policies(self) -> PolicyStore:
        from custody.adapters.dynamodb import DynamoPolicies

        return DynamoPolicies(self._dynamodb, self._env(env.TrustSettings).trust_table)

    @cached_property
    def traces(self) -> TraceStore:
        from custody.adapters.dynamodb import DynamoTraces

        table = self._env(env.TraceSettings).traces_table
        return DynamoTraces(self._dynamodb, table, self.clock)

    @cached_property
    def idempotency(self) -> Idempotency:
        from custody.adapters.powertools_idempotency import PowertoolsIdempotency

        table = self._env(env.IdempotencySettings).idempotency_table
        return PowertoolsIdempotency.on_table(table)

    @cached_property
    def objects(self) -> ObjectStore:
        from custody.adapters.s3_objects import S3Objects, connect

        return S3Objects(connect(), self._env(env.BucketSettings).bucket, self.clock)

    @property
    def index(self) -> EvidenceIndex:
        return self._index

    @property
    def rebuildable(self) -> RebuildableIndex:
        return self._index

    @cached_property
    def _index(self) -> SqliteIndex | OpenSearchIndex:
        chosen = self._env(env.IndexSettings)
        if chosen.index == "embedded":
            from custody.adapters.sqlite_index import SqliteIndex

            return SqliteIndex(chosen.embedded_index_path)
        from custody.adapters.opensearch_index import OpenSearchIndex, connect

        region = _signing_region(chosen.opensearch_auth)
        return OpenSearchIndex(
            connect(chosen.opensearch_url, sigv4_region=region),
            chosen.index_prefix,
            cluster_uuid=chosen.opensearch_cluster_uuid or None,
        )

    @cached_property
    def parser(self) -> Parser:
        from custody.adapters.parsers.format_parser import FormatParser

        return FormatParser()

    @cached_property
    def chunker(self) -> Chunker:
        from custody.adapters.token_chunker import TokenChunker

        return TokenChunker(self._model(tokenizer_only=True))

    @cached_property
    def embedder(self) -> Embedder:
        from custody.adapters.onnx_embedder import OnnxEmbedder

        return OnnxEmbedder(self._model())

    @property
    def reranker(self) -> Reranker | None:
        return None

    @property
    def judge(self) -> Judge:
        from custody.domain.ranking.sufficiency import judge

        return judge

    @property
    def rewriter(self) -> Rewriter:
        from custody.domain.ranking.rewriting import rewrite

        return rewrite

    @cached_property
    def verifier(self) -> Verifier:
        from custody.adapters.ecdsa_verifier import EcdsaVerifier

        return EcdsaVerifier()

    @cached_property
    def packaged_policies(self) -> Mapping[str, bytes]:
        from custody.adapters.packaged_policies import packaged_policies

        return packaged_policies()

    def signer(self, purpose: str) -> Signer:
        if purpose not in self._signers:
            from custody.adapters.kms_signer import KmsSigner, connect

            arn = self._env(env.KEYS[purpose]).arn
            self._signers[purpose] = KmsSigner(connect(), arn, purpose, self.clock)
        return self._signers[purpose]

    def jobs(self, *kinds: str) -> Jobs:
        if kinds not in self._jobs:
            from custody.adapters.sqs_jobs import SqsJobs, connect

            url = {kind: self._env(env.QUEUES[kind]).url for kind in kinds}
            self._jobs[kinds] = SqsJobs(
                connect(),
                parse=url.get("parse"),
                embed=url.get("embed"),
                publish=url.get("publish"),
                erase=url.get("erase"),
                rebuild=url.get("rebuild"),
            )
        return self._jobs[kinds]

    @cached_property
    def other_embedder(self) -> Embedder | None:
        wanted = self._env(env.OtherModelSettings).other_model
        if not wanted:
            return None
        from custody.adapters.onnx_embedder import OnnxEmbedder

        return OnnxEmbedder(self._load(_OTHER_MODEL_PACKAGE, wanted))

    def _model(self, *, tokenizer_only: bool = False) -> EmbeddingModel:
        wanted = self._env(env.ModelSettings).model
        return self._load(_MODEL_PACKAGE, wanted, tokenizer_only=tokenizer_only)

    @staticmethod
    def _load(package: str, wanted: str, *, tokenizer_only: bool = False) -> EmbeddingModel:
        from custody.adapters.model_manifest import load_model

        try:
            folder = Path(str(files(package)))
        except ModuleNotFoundError:
            raise ConfigurationError("The embeddings layer with its model is missing.") from None
        model = load_model(folder, tokenizer_only=tokenizer_only)
        held = (folder / "MODEL").read_text().strip()
        if held != wanted:
            raise ConfigurationError(f"The embeddings layer holds the model {held}, not {wanted}.")
        return model

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class EnvironmentLimits:
    """Each is read with the first use that is made of it: no function has all the variables."""

    def __init__(self, environment: env.Environment) -> None:
        self._env = environment

    @property
    def bucket(self) -> str:
        return self._env(env.BucketSettings).bucket

    @property
    def max_object_bytes(self) -> int:
        return self._env(env.ObjectSettings).max_object_bytes

    @property
    def publish_wait_seconds(self) -> float:
        return self._env(env.WaitSettings).publish_wait_seconds

    @property
    def max_token_age(self) -> timedelta:
        return timedelta(seconds=self._env(env.PrincipalSettings).max_token_age_seconds)

    @property
    def trace_ttl(self) -> timedelta:
        return timedelta(days=self._env(env.TraceSettings).trace_days)

    @property
    def superseded_retention(self) -> timedelta | None:
        days = self._env(env.RetentionSettings).superseded_retention_days
        return timedelta(days=days) if days else None

    @property
    def leg_weights(self) -> Mapping[Leg, float]:
        given = self._env(env.RankingSettings).leg_weights
        unknown = sorted(given.keys() - set(Leg))
        if unknown:
            raise ConfigurationError(f"CUSTODY_LEG_WEIGHTS: there is no leg {unknown[0]!r}.")
        return {Leg(name): weight for name, weight in given.items()}

    @property
    def build_pace(self) -> BuildPace:
        from custody.application.indexing.pace import BuildPace

        return BuildPace()

    @property
    def max_rewrites(self) -> int:
        from custody.domain.ranking.rewriting import MAX_REWRITES

        return MAX_REWRITES


def _signing_region(auth: str) -> str | None:
    if auth != "sigv4":
        return None
    import boto3

    region = boto3.Session().region_name
    if region is None:
        raise ConfigurationError("Signing requests to OpenSearch needs a region.")
    return region
