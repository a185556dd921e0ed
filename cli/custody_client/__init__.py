"""Typed Python client of the Custody HTTP API.

    from custody_client import Client

    with Client("https://example.execute-api.eu-west-1.amazonaws.com/v1", token) as custody:
        found = custody.search("who may open the sluice gate?", k=5)

It knows the HTTP contract and nothing of the service. Importing it loads no HTTP library; that
happens with the first ``Client``.
"""

from custody_client.client import Client
from custody_client.errors import (
    CustodyApiError,
    CustodyClientError,
    CustodyTimeoutError,
    CustodyUnreachableError,
)

__all__ = [
    "Client",
    "CustodyApiError",
    "CustodyClientError",
    "CustodyTimeoutError",
    "CustodyUnreachableError",
]
