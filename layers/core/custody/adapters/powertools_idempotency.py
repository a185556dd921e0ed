"""``Idempotency`` on Powertools' utility and a DynamoDB table of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, cast

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
)
from aws_lambda_powertools.utilities.idempotency.base import IdempotencyHandler
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyInconsistentStateError,
    IdempotencyPersistenceLayerError,
    IdempotencyValidationError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer

from custody.application.idempotency import KEPT_SECONDS, Call, StoredReply
from custody.errors import Conflict, Unavailable, Unprocessable

LEASE_MILLISECONDS = 30_000  # API Gateway gives up after 29 s, whatever the function does


@dataclass(frozen=True, slots=True)
class _Lease:
    """Stands for the Lambda context. A fixed lease always ends: the real remaining time can be
    read as 0 or be missing, and a record without an end refuses every retry."""

    milliseconds: int

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


class PowertoolsIdempotency:
    """``store`` is used with SHA-256 for keys and bodies, whatever its own default is."""

    def __init__(
        self, store: BasePersistenceLayer, *, lease_milliseconds: int = LEASE_MILLISECONDS
    ) -> None:
        self._store = store
        self._config = IdempotencyConfig(
            event_key_jmespath="[tenant, subject, target, key]",
            payload_validation_jmespath="body_sha256",
            expires_after_seconds=KEPT_SECONDS,
            hash_function="sha256",
            raise_on_no_idempotency_key=True,
            lambda_context=cast("Any", _Lease(lease_milliseconds)),
        )

    @classmethod
    def on_table(cls, table_name: str) -> PowertoolsIdempotency:
        return cls(DynamoDBPersistenceLayer(table_name=table_name))

    def once(self, call: Call, action: Callable[[], StoredReply]) -> StoredReply:
        handler = IdempotencyHandler(
            function=action,
            function_payload=asdict(call),
            config=self._config,
            persistence_store=self._store,
            key_prefix="custody",
            function_args=(),
            function_kwargs={},
        )
        try:
            return cast("StoredReply", handler.handle())
        except (IdempotencyAlreadyInProgressError, IdempotencyInconsistentStateError):
            raise Conflict(
                "The same request is being worked on.", code="idempotency-in-progress"
            ) from None
        except IdempotencyValidationError:
            raise Unprocessable(
                "This Idempotency-Key was used with another body.",
                code="idempotency-key-reused",
                field="Idempotency-Key",
            ) from None
        except IdempotencyPersistenceLayerError as error:
            raise Unavailable(
                "Idempotency can't be recorded.", code="idempotency-unavailable"
            ) from error
