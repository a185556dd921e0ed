"""A client for a node or for the managed service."""

from __future__ import annotations

from typing import Any

from opensearchpy import OpenSearch, Urllib3HttpConnection
from opensearchpy.exceptions import SerializationError
from opensearchpy.helpers.signer import Urllib3AWSV4SignerAuth
from opensearchpy.serializer import JSONSerializer
from pydantic_core import PydanticSerializationError, from_json, to_json

from custody.addresses import is_safe
from custody.errors import ConfigurationError


class FastJson(JSONSerializer):
    """The client's JSON through pydantic's parser: a third of the time for two legs of hits."""

    def loads(self, s: str) -> Any:
        try:
            return from_json(s, allow_inf_nan=False)
        except ValueError as fault:
            raise SerializationError(s[:100], fault) from fault

    def dumps(self, data: Any) -> str:
        if isinstance(data, str):
            return data
        try:
            return to_json(data, inf_nan_mode="strings").decode()
        except PydanticSerializationError as fault:
            raise SerializationError("a request", fault) from fault


def connect(
    url: str,
    *,
    sigv4_region: str | None = None,
    timeout_s: float = 5.0,
    retries: int = 1,
    pool: int = 10,
) -> OpenSearch:
    """``sigv4_region``: sign with the process's AWS credentials for the managed service (``es``).

    A refused or dropped connection, 429, 502, 503 and 504 are tried again ``retries`` times; every
    call that Custody makes may be repeated. A time-out is not: the caller's time is used up.

    Raises ConfigurationError for an address to which questions and evidence would go in the open."""
    if not is_safe(url):
        raise ConfigurationError(
            "OpenSearch is reached over https, or over http on this machine, not at"
            f" {url.rpartition('@')[2]}."
        )
    auth = None
    if sigv4_region is not None:
        import boto3  # the runtime brings it; only signing needs it

        credentials = boto3.Session().get_credentials()
        auth = Urllib3AWSV4SignerAuth(credentials, sigv4_region, "es")
    return OpenSearch(
        url,
        http_auth=auth,
        connection_class=Urllib3HttpConnection,
        serializer=FastJson(),
        timeout=timeout_s,
        max_retries=retries,
        retry_on_status=(429, 502, 503, 504),
        retry_on_timeout=False,
        pool_maxsize=pool,
        http_compress=False,
    )
