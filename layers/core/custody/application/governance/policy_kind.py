"""A kind of policy: its name, how it is written, and what the domain makes of it.

The JSON Schemas beside the policies are written from the kinds' models (``json_schema``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from custody.domain.provenance.canonical import parse_json
from custody.domain.provenance.identifiers import SOURCE_PATTERN, TENANT_PATTERN
from custody.errors import IntegrityError

type Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
type Number = Annotated[float, Field(allow_inf_nan=False)]
type Version = Annotated[
    str, StringConstraints(pattern=r"^(0|[1-9]\d{0,5})(\.(0|[1-9]\d{0,5})){2}$")
]
type Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
type LineageId = Annotated[str, StringConstraints(pattern=f"^{TENANT_PATTERN}/{SOURCE_PATTERN}$")]


class PolicyPart(BaseModel):
    """Base of every model of a policy: exactly these fields, nothing converted."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class PolicyDocument(PolicyPart):
    """Base of a policy as a whole. A kind narrows ``name`` to its own."""

    name: str
    version: Version


@dataclass(frozen=True, slots=True)
class PolicyVersion[Value]:
    """One version of a policy, as the domain's value."""

    version: str
    value: Value


@dataclass(frozen=True, slots=True)
class PolicyKind[Document: PolicyDocument, Value]:
    """``to_value`` makes the domain's value and raises IntegrityError(invalid-policy) where the
    document contradicts itself."""

    name: str
    document: type[Document]
    to_value: Callable[[Document], Value]

    def read(self, payload: bytes) -> PolicyVersion[Value]:
        """Strict JSON into a checked policy. Raises IntegrityError(invalid-policy)."""
        try:
            document = self.document.model_validate(parse_json(payload))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
                for item in error.errors()
            )
            raise _invalid(f"Not a {self.name} policy: {faults}.") from None
        except IntegrityError as error:
            raise _invalid(error.detail) from None
        if document.name != self.name:
            raise _invalid(f"Not a {self.name} policy: it is named {document.name}.")
        return PolicyVersion(document.version, self.to_value(document))

    def json_schema(self) -> dict[str, object]:
        """JSON Schema 2020-12 of the document."""
        schema = self.document.model_json_schema()
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _invalid(detail: str) -> IntegrityError:
    return IntegrityError(detail, code="invalid-policy")
