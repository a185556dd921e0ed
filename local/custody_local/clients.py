"""AWS clients of the local stack, from the package that other users of a local AWS have.

That package reads AWS_ENDPOINT_URL, LOCALSTACK_HOST and USE_SSL for itself, at each session. A
running stack must not move when one of them changes, so a session here keeps the endpoint that it
was made for.
"""

from __future__ import annotations

from localstack_client.session import Session

from custody_local import emulator


class EndpointSession(Session):  # type: ignore[misc]  # the package has no types
    """Makes clients of one endpoint, with credentials that a local AWS takes; nothing of the
    caller's own."""

    _service_endpoint_mapping: dict[str, str]

    def __init__(self, endpoint: str) -> None:
        super().__init__(
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 - a local AWS takes any
            region_name=emulator.REGION,
            localstack_host="localhost",  # so that a variable is not even read
        )
        self._service_endpoint_mapping = dict.fromkeys(self._service_endpoint_mapping, endpoint)


def session(endpoint: str) -> EndpointSession:
    return EndpointSession(endpoint)
