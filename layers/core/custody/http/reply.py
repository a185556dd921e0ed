"""What an endpoint replies, held to what it declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, JsonValue, RootModel

from custody.errors import IntegrityError

type Declared = Mapping[int, type[BaseModel]]


@dataclass(frozen=True, slots=True)
class Reply:
    """``counts``: metrics, name to count."""

    body: BaseModel
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)


class Replayed(RootModel[dict[str, JsonValue]]):
    """The JSON of a reply that was given before, as it was then. The endpoint's model may be
    another one since a deployment, so it is not read back into that."""


def as_declared(reply: Reply, declared: Declared) -> Reply:
    """The reply itself. Raises IntegrityError(undeclared-reply) where its status or its model is
    none of the endpoint's; what was replied before was held to what was declared then."""
    if isinstance(reply.body, Replayed):
        return reply
    model = declared.get(reply.status)
    if model is None or not isinstance(reply.body, model):
        raise IntegrityError(
            f"{type(reply.body).__name__} with status {reply.status} is not declared.",
            code="undeclared-reply",
        )
    return reply
