"""The only place that wires adapters to ports. Everything is made once for each container.

Imports stay inside the factories: a function then loads only what its own use case needs, which
keeps a cold start short.
"""

from __future__ import annotations

import time
from datetime import timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from custody import settings as env
from custody.adapters.system_clock import RandomIdentifiers, SystemClock
from custody.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

    from custody.adapters.dynamodb import DynamoTraces
    from custody.adapters.kms_signer import KmsSigner
    from custody.adapters.oidc import TokenAuthorizer
    from custody.application.erasure.propagate import Propagate
    from custody.application.erasure.request import Erase
    from custody.application.erasure.tombstone import Erasing
    from custody.application.governance.active_policies import ActivePolicies
    from custody.application.governance.deploy_policies import DeployPolicies
    from custody.application.governance.source_registry import Govern
    from custody.application.health import Health
    from custody.application.idempotency import Idempotency
    from custody.application.ingestion.accept_document import Accept
    from custody.application.ingestion.accept_drop import AcceptDrop
    from custody.application.ingestion.change_acl import ChangeAcl
    from custody.application.ingestion.embed import Embed
    from custody.application.ingestion.parse import Parse
    from custody.application.ingestion.publish import Publish
    from custody.application.ingestion.rejecting import Rejecting
    from custody.application.ingestion.uploads import Uploads
    from custody.application.ports import (
        Cursors,
        Embedder,
        EvidenceIndex,
        Jobs,
        Ledger,
        ObjectStore,
    )
    from custody.application.reading.answer import Answers
    from custody.application.reading.documents import Documents
    from custody.application.reading.evidence_check import EvidenceCheck
    from custody.application.reading.read_trace import ReadTrace
    from custody.application.reading.retrieval import Retriever
    from custody.application.reading.search import Search
    from custody.application.waiting import Waiting
    from custody.domain.text.embedding_model import EmbeddingModel
    from custody.http.api import Edge

_MODEL_PACKAGE = "custody_model"

clock = SystemClock()
identifiers = RandomIdentifiers()


# --- what stands behind the ports -----------------------------------------------------------------


@cache
def _dynamodb() -> DynamoDBClient:
    from custody.adapters.dynamodb import connect

    return connect()


@cache
def ledger() -> Ledger:
    from custody.adapters.dynamodb import DynamoLedger

    return DynamoLedger(_dynamodb(), env.settings(env.LedgerSettings).ledger_table)


@cache
def objects() -> ObjectStore:
    from custody.adapters.s3_objects import S3Objects, connect

    return S3Objects(connect(), env.settings(env.BucketSettings).bucket, clock)


@cache
def index() -> EvidenceIndex:
    chosen = env.settings(env.IndexSettings)
    if chosen.index == "embedded":
        from custody.adapters.sqlite_index import SqliteIndex

        return SqliteIndex(chosen.embedded_index_path)
    from custody.adapters.opensearch_index import OpenSearchIndex, connect

    client = connect(chosen.opensearch_url, sigv4_region=_signing_region(chosen.opensearch_auth))
    return OpenSearchIndex(
        client, chosen.index_prefix, cluster_uuid=chosen.opensearch_cluster_uuid or None
    )


def _signing_region(auth: str) -> str | None:
    if auth != "sigv4":
        return None
    import boto3

    region = boto3.Session().region_name
    if region is None:
        raise ConfigurationError("Signing requests to OpenSearch needs a region.")
    return region


def _queue(group: type[env.QueueSettings]) -> str:
    url: str = env.settings(group).url
    return url


@cache
def _jobs(*kinds: str) -> Jobs:
    """Only the queues that the function may send to."""
    from custody.adapters.sqs_jobs import SqsJobs, connect

    url = {kind: _queue(env.QUEUES[kind]) for kind in kinds}
    return SqsJobs(
        connect(),
        parse=url.get("parse"),
        embed=url.get("embed"),
        publish=url.get("publish"),
        erase=url.get("erase"),
    )


@cache
def _model(*, tokenizer_only: bool = False) -> EmbeddingModel:
    from custody.adapters.model_manifest import load_model

    try:
        folder = Path(str(files(_MODEL_PACKAGE)))
    except ModuleNotFoundError:
        raise ConfigurationError("The embeddings layer with its model is missing.") from None
    model = load_model(folder, tokenizer_only=tokenizer_only)
    wanted = env.settings(env.ModelSettings).model
    held = (folder / "MODEL").read_text().strip()
    if held != wanted:
        raise ConfigurationError(f"The embeddings layer holds the model {held}, not {wanted}.")
    return model


@cache
def embedder() -> Embedder:
    from custody.adapters.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(_model())


@cache
def _signer(purpose: str) -> KmsSigner:
    import boto3
    from botocore.config import Config

    from custody.adapters.kms_signer import KmsSigner

    arn = (
        env.settings(env.SigningSettings).signing_key_arn
        if purpose == "ingestion"
        else env.settings(env.PolicyKeySettings).policy_key_arn
    )
    client = boto3.client(
        "kms",
        config=Config(
            connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3}
        ),
    )
    return KmsSigner(client, arn, purpose, clock)


@cache
def _traces() -> DynamoTraces:
    from custody.adapters.dynamodb import DynamoTraces

    return DynamoTraces(_dynamodb(), env.settings(env.TraceSettings).traces_table, clock)


def _trace_ttl() -> timedelta:
    return timedelta(days=env.settings(env.TraceSettings).trace_days)


# --- what use cases share ---------------------------------------------------------------------------


@cache
def edge() -> Edge:
    from custody.http.api import Edge

    limits = env.settings(env.PrincipalSettings)
    return Edge(clock, timedelta(seconds=limits.max_token_age_seconds))


@cache
def idempotency() -> Idempotency:
    from custody.adapters.powertools_idempotency import PowertoolsIdempotency

    return PowertoolsIdempotency.on_table(env.settings(env.IdempotencySettings).idempotency_table)


@cache
def _check() -> EvidenceCheck:
    from custody.adapters.ecdsa_verifier import EcdsaVerifier
    from custody.application.reading.evidence_check import EvidenceCheck

    return EvidenceCheck(EcdsaVerifier())


@cache
def _policies() -> ActivePolicies:
    from custody.adapters.dynamodb import DynamoPolicies
    from custody.adapters.ecdsa_verifier import EcdsaVerifier
    from custody.application.governance.active_policies import ActivePolicies

    store = DynamoPolicies(_dynamodb(), env.settings(env.LedgerSettings).ledger_table)
    return ActivePolicies(store, EcdsaVerifier())


@cache
def _retriever() -> Retriever:
    from custody.application.reading.retrieval import Retriever

    ranking = env.settings(env.RankingSettings)
    return Retriever(
        index=index(),
        ledger=ledger(),
        check=_check(),
        policies=_policies(),
        leg_weights={"semantic": ranking.semantic_weight, "lexical": ranking.lexical_weight},
    )


@cache
def _rejecting() -> Rejecting:
    from custody.application.ingestion.rejecting import Rejecting

    return Rejecting(ledger(), objects(), clock)


def _waiting() -> Waiting:
    from custody.application.waiting import Waiting

    return Waiting(clock, time.sleep, env.settings(env.LimitSettings).publish_wait_seconds)


def _erasing(jobs: Jobs) -> Erasing:
    from custody.application.erasure.tombstone import Erasing

    return Erasing(ledger(), jobs, clock, identifiers)


# --- use cases --------------------------------------------------------------------------------------


@cache
def authorizer() -> TokenAuthorizer:
    from custody.adapters.oidc import TokenAuthorizer

    chosen = env.settings(env.TokenSettings)
    return TokenAuthorizer(
        issuer=chosen.issuer,
        audience=chosen.audience,
        clock=clock,
        tenant_claim=chosen.tenant_claim,
        jwks_url=chosen.jwks_url,
    )


@cache
def _accept() -> Accept:
    from custody.application.ingestion.accept_document import Accept

    return Accept(ledger(), objects(), index(), _jobs("parse", "publish"), clock)


@cache
def _cursors() -> Cursors:
    from custody.adapters.sealed_cursors import SealedCursors

    return SealedCursors(ledger().page_secret)


@cache
def documents() -> Documents:
    from custody.application.reading.documents import Documents

    return Documents(_accept(), ledger(), index(), _waiting(), _cursors())


@cache
def change_acl() -> ChangeAcl:
    from custody.application.ingestion.change_acl import ChangeAcl

    return ChangeAcl(ledger(), _jobs("parse", "publish"), _waiting())


@cache
def uploads() -> Uploads:
    from custody.application.ingestion.uploads import Uploads

    return Uploads(
        ledger(), objects(), max_object_bytes=env.settings(env.LimitSettings).max_object_bytes
    )


@cache
def accept_drop() -> AcceptDrop:
    from custody.application.ingestion.accept_drop import AcceptDrop

    jobs = _jobs("parse", "publish", "erase")
    return AcceptDrop(
        ledger=ledger(),
        objects=objects(),
        index=index(),
        jobs=jobs,
        clock=clock,
        rejecting=_rejecting(),
        erasing=_erasing(jobs),
        bucket=env.settings(env.BucketSettings).bucket,
        max_object_bytes=env.settings(env.LimitSettings).max_object_bytes,
    )


@cache
def parse() -> Parse:
    from custody.adapters.parsers import FormatParser
    from custody.adapters.token_chunker import TokenChunker
    from custody.application.ingestion.parse import Parse

    return Parse(
        ledger=ledger(),
        objects=objects(),
        parser=FormatParser(),
        chunker=TokenChunker(_model(tokenizer_only=True)),
        jobs=_jobs("embed"),
        rejecting=_rejecting(),
        max_object_bytes=env.settings(env.LimitSettings).max_object_bytes,
    )


@cache
def embed() -> Embed:
    from custody.application.ingestion.embed import Embed

    return Embed(ledger(), objects(), embedder(), _jobs("publish"), _rejecting())


@cache
def publish() -> Publish:
    from custody.application.ingestion.publish import Publish

    return Publish(ledger(), objects(), index(), _signer("ingestion"), _jobs("erase"), clock)


@cache
def propagate() -> Propagate:
    from custody.application.erasure.propagate import Propagate

    return Propagate(ledger(), objects(), index(), clock)


@cache
def search() -> Search:
    from custody.application.reading.search import Search

    return Search(
        retriever=_retriever(),
        embedder=embedder(),
        traces=_traces(),
        clock=clock,
        ids=identifiers,
        trace_ttl=_trace_ttl(),
    )


@cache
def answers() -> Answers:
    from custody.application.reading.answer import Answers

    return Answers(
        search=search(),
        retriever=_retriever(),
        policies=_policies(),
        traces=_traces(),
        clock=clock,
        ids=identifiers,
        trace_ttl=_trace_ttl(),
    )


@cache
def traces() -> ReadTrace:
    from custody.application.reading.read_trace import ReadTrace

    return ReadTrace(
        traces=_traces(), ledger=ledger(), objects=objects(), check=_check(), clock=clock
    )


@cache
def erase() -> Erase:
    from custody.application.erasure.request import Erase

    return Erase(_erasing(_jobs("erase")))


@cache
def govern() -> Govern:
    from custody.application.governance.source_registry import Govern

    return Govern(ledger(), clock, _cursors())


@cache
def health() -> Health:
    from custody.application.health import Health

    return Health({"ledger": ledger(), "index": index()}, clock)


@cache
def deploy_policies() -> DeployPolicies:
    from custody.adapters.dynamodb import DynamoPolicies
    from custody.adapters.ecdsa_verifier import EcdsaVerifier
    from custody.adapters.packaged_policies import packaged_policies
    from custody.application.governance.deploy_policies import DeployPolicies

    return DeployPolicies(
        ledger=ledger(),
        policies=DynamoPolicies(_dynamodb(), env.settings(env.LedgerSettings).ledger_table),
        ingestion=_signer("ingestion"),
        policy=_signer("policy"),
        verifier=EcdsaVerifier(),
        packaged=packaged_policies(),
    )
