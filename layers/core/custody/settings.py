"""The environment, typed and checked once, a model for each concern.

A function reads only the groups that its use case needs; ``SETTINGS_OF_FUNCTION`` says which, and
a test holds the template to it in both directions. Every variable starts with ``CUSTODY_``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from custody.errors import ConfigurationError

type Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
type Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")]
type Arn = Annotated[str, StringConstraints(pattern=r"^arn:[a-z0-9-]+:kms:")]


class _Group(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="CUSTODY_", env_file=None, frozen=True, extra="ignore", case_sensitive=False
    )


class TrustSettings(_Group):
    trust_table: Name


class RevocationSettings(_Group):
    revocations_table: Name


class LedgerSettings(_Group):
    ledger_table: Name


class WorkSettings(_Group):
    work_table: Name


class BuildSettings(_Group):
    builds_table: Name


class TraceSettings(_Group):
    traces_table: Name
    trace_days: int = Field(default=30, ge=1, le=3650)


class RetentionSettings(_Group):
    """Days that a superseded version is kept; 0 keeps it for ever."""

    superseded_retention_days: int = Field(default=0, ge=0, le=36500)


class IdempotencySettings(_Group):
    idempotency_table: Name


class BucketSettings(_Group):
    bucket: Name


class IndexSettings(_Group):
    """``index`` opensearch needs ``opensearch_url``; embedded needs ``embedded_index_path``.
    ``opensearch_cluster_uuid``: the one cluster that may answer; any where it is empty."""

    index: Literal["opensearch", "embedded"]
    index_prefix: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
    opensearch_url: Url | Literal[""] = ""
    opensearch_auth: Literal["none", "sigv4"] = "none"
    opensearch_cluster_uuid: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{0,64}$")] = (
        ""
    )
    embedded_index_path: str = ""

    @model_validator(mode="after")
    def _address_of_the_index(self) -> IndexSettings:
        if self.index == "opensearch" and not self.opensearch_url:
            raise ValueError("CUSTODY_OPENSEARCH_URL is needed with CUSTODY_INDEX=opensearch")
        if self.index == "embedded" and not self.embedded_index_path:
            raise ValueError("CUSTODY_EMBEDDED_INDEX_PATH is needed with CUSTODY_INDEX=embedded")
        return self


class ModelSettings(_Group):
    """The model's folder is looked for by this name in the embeddings layer."""

    model: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")] = "minilm"


type Weight = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]


def _by_name(given: object) -> object:
    """``a=1,b=2`` as a mapping."""
    if not isinstance(given, str):
        return given
    pairs = [part.partition("=") for part in given.split(",") if part.strip()]
    return {name.strip(): number for name, _, number in pairs}


class RankingSettings(_Group):
    """``leg_weights``: what a leg weighs in rank fusion, relative to the others, as in
    ``semantic=1,lexical=0.5``; 1 where it is not named."""

    leg_weights: Annotated[dict[str, Weight], NoDecode, BeforeValidator(_by_name)] = Field(
        default_factory=dict
    )


class OtherModelSettings(_Group):
    """A second model, to build an index of while the first one is served. Empty: none."""

    other_model: Annotated[str, StringConstraints(pattern=r"^([a-z0-9][a-z0-9.-]{0,63})?$")] = ""


class KeySettings(_Group):
    """A key by its ARN: signing by alias is denied where a policy names the key's ARN."""

    @property
    def arn(self) -> str:
        (name,) = type(self).model_fields
        return str(getattr(self, name))


class SigningSettings(KeySettings):
    signing_key_arn: Arn


class PolicyKeySettings(KeySettings):
    policy_key_arn: Arn


class IndexKeySettings(KeySettings):
    index_key_arn: Arn


KEYS: dict[str, type[KeySettings]] = {
    "ingestion": SigningSettings,
    "policy": PolicyKeySettings,
    "index": IndexKeySettings,
}


class QueueSettings(_Group):
    """One queue that a function sends to."""

    @property
    def url(self) -> str:
        (name,) = type(self).model_fields
        return str(getattr(self, name))


class ParseQueueSettings(QueueSettings):
    parse_queue_url: Url


class EmbedQueueSettings(QueueSettings):
    embed_queue_url: Url


class PublishQueueSettings(QueueSettings):
    publish_queue_url: Url


class EraseQueueSettings(QueueSettings):
    erase_queue_url: Url


class RebuildQueueSettings(QueueSettings):
    rebuild_queue_url: Url


QUEUES: dict[str, type[QueueSettings]] = {
    "parse": ParseQueueSettings,
    "embed": EmbedQueueSettings,
    "publish": PublishQueueSettings,
    "erase": EraseQueueSettings,
    "rebuild": RebuildQueueSettings,
}


class TokenSettings(_Group):
    """``jwks_url`` empty: taken from the issuer's discovery document."""

    issuer: Url
    audience: Name
    jwks_url: Url | Literal[""] = ""
    tenant_claim: Name = "tenant"


class PrincipalSettings(_Group):
    max_token_age_seconds: int = Field(default=3600, ge=60, le=86400)


class ObjectSettings(_Group):
    max_object_bytes: int = Field(default=50_000_000, ge=1)


class WaitSettings(_Group):
    publish_wait_seconds: float = Field(default=15.0, ge=0, le=25)


SETTINGS_OF_FUNCTION: dict[str, tuple[type[_Group], ...]] = {
    "authorize": (TokenSettings,),
    "documents": (
        PrincipalSettings,
        TrustSettings,
        RevocationSettings,
        LedgerSettings,
        WorkSettings,
        IdempotencySettings,
        BucketSettings,
        IndexSettings,
        ParseQueueSettings,
        PublishQueueSettings,
        ObjectSettings,
        WaitSettings,
    ),
    "accept": (
        TrustSettings,
        LedgerSettings,
        WorkSettings,
        BucketSettings,
        IndexSettings,
        ParseQueueSettings,
        PublishQueueSettings,
        EraseQueueSettings,
        ObjectSettings,
    ),
    "parse": (
        WorkSettings,
        BucketSettings,
        ModelSettings,
        EmbedQueueSettings,
        PublishQueueSettings,
        ObjectSettings,
    ),
    "embed": (WorkSettings, BucketSettings, ModelSettings, PublishQueueSettings),
    "publish": (
        TrustSettings,
        LedgerSettings,
        WorkSettings,
        BucketSettings,
        IndexSettings,
        SigningSettings,
        PublishQueueSettings,
        RebuildQueueSettings,
    ),
    "query": (
        PrincipalSettings,
        TrustSettings,
        RevocationSettings,
        LedgerSettings,
        TraceSettings,
        IndexSettings,
        ModelSettings,
        RankingSettings,
    ),
    "gate": (
        PrincipalSettings,
        TrustSettings,
        RevocationSettings,
        LedgerSettings,
        WorkSettings,
        TraceSettings,
        IndexSettings,
        ModelSettings,
        RankingSettings,
        BucketSettings,
    ),
    "erase": (
        PrincipalSettings,
        TrustSettings,
        RevocationSettings,
        LedgerSettings,
        WorkSettings,
        IdempotencySettings,
        EraseQueueSettings,
    ),
    "propagate": (LedgerSettings, WorkSettings, BuildSettings, BucketSettings, IndexSettings),
    "expire": (WorkSettings, BucketSettings, IndexSettings, RetentionSettings),
    "govern": (
        PrincipalSettings,
        TrustSettings,
        RevocationSettings,
        IdempotencySettings,
        PolicyKeySettings,
        BuildSettings,
        RebuildQueueSettings,
    ),
    "rebuild": (
        TrustSettings,
        LedgerSettings,
        WorkSettings,
        BuildSettings,
        BucketSettings,
        IndexSettings,
        ModelSettings,
        OtherModelSettings,
        IndexKeySettings,
        RebuildQueueSettings,
    ),
    "health": (TrustSettings, LedgerSettings, WorkSettings, IndexSettings),
    "bootstrap": (
        TrustSettings,
        RevocationSettings,
        LedgerSettings,
        WorkSettings,
        SigningSettings,
        PolicyKeySettings,
        IndexKeySettings,
    ),
}


class Environment:
    """The process's variables, each group read once."""

    def __init__(self) -> None:
        self._read: dict[type[_Group], _Group] = {}

    def __call__[Group: _Group](self, group: type[Group]) -> Group:
        """Raises ConfigurationError that names each variable at fault."""
        found = self._read.get(group)
        if not isinstance(found, group):
            found = self._read[group] = _read(group)
        return found


def _read[Group: _Group](group: type[Group]) -> Group:
    try:
        return group()
    except ValidationError as error:
        faults = "; ".join(
            f"CUSTODY_{str(item['loc'][0]).upper()}: {item['msg']}"
            if item["loc"]
            else str(item["msg"])
            for item in error.errors()
        )
        raise ConfigurationError(f"The environment is not valid: {faults}.") from None


def variables_of(function: str) -> frozenset[str]:
    """Names of all the variables that a function reads."""
    return frozenset(
        f"CUSTODY_{name.upper()}"
        for group in SETTINGS_OF_FUNCTION[function]
        for name in group.model_fields
    )
