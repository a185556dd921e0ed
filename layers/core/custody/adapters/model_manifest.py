"""Read a model folder: ``manifest.json`` beside the files that it names."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from custody.domain.text.embedding_model import EmbeddingModel
from custody.errors import ConfigurationError, IntegrityError, Unavailable

_MANIFEST = "manifest.json"
_TOKENIZER = "tokenizer.json"

type _FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
type _Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Manifest(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    name: str = Field(min_length=1)
    revision: str = Field(min_length=1)
    dimensions: int = Field(gt=0)
    pooling: Literal["mean"]
    normalize: bool
    max_tokens: int = Field(ge=64)
    query_prefix: str
    passage_prefix: str
    output: str = Field(min_length=1)
    files: dict[_FileName, _Sha256]


def load_model(folder: str | Path, *, tokenizer_only: bool = False) -> EmbeddingModel:
    """Check the files of ``folder`` against its manifest and describe the model.

    ``tokenizer_only`` leaves the weights unread, for a function that only cuts text.

    Raises Unavailable(model-unavailable) for a missing folder or file,
    IntegrityError(model-altered) for a file whose SHA-256 is not the manifest's, and
    ConfigurationError(model-manifest-invalid) for a manifest that doesn't describe a model.
    """
    root = Path(folder)
    manifest = _read(root / _MANIFEST)
    try:
        described = _Manifest.model_validate_json(manifest)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
        )
        raise ConfigurationError(
            f"The model manifest is invalid: {faults}.", code="model-manifest-invalid"
        ) from error
    weights = [name for name in described.files if name.endswith(".onnx")]
    if len(weights) != 1 or _TOKENIZER not in described.files:
        raise ConfigurationError(
            "A model manifest names exactly one .onnx file and tokenizer.json.",
            code="model-manifest-invalid",
            field="files",
        )
    for name, expected in described.files.items():
        if tokenizer_only and name != _TOKENIZER:
            continue
        if hashlib.sha256(_read(root / name)).hexdigest() != expected:
            raise IntegrityError(
                f"{name} of model {described.name} is not the file that its manifest names.",
                code="model-altered",
                field=name,
            )
    return EmbeddingModel(
        name=described.name,
        revision=described.revision,
        dimensions=described.dimensions,
        max_tokens=described.max_tokens,
        normalize=described.normalize,
        output=described.output,
        query_prefix=described.query_prefix,
        passage_prefix=described.passage_prefix,
        model_file=str(root / weights[0]),
        tokenizer_file=str(root / _TOKENIZER),
        tokenizer_sha256=described.files[_TOKENIZER],
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unavailable(
            f"The model file {path.name} can't be read.", code="model-unavailable"
        ) from error
