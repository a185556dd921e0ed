"""The policies that ship with the service: the folder ``policies`` of the layer, or of the
repository when the package runs from there."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from custody.application.governance.kinds import KINDS
from custody.errors import ConfigurationError

_PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (_PACKAGE / "policies", _PACKAGE.parents[2] / "policies")


def packaged_policies(
    folder: Path | None = None, *, kinds: Collection[str] = tuple(KINDS)
) -> dict[str, bytes]:
    """Name -> JSON, of each of the ``kinds``. Raises ConfigurationError where a default policy is missing."""
    found = folder or next((each for each in FOLDERS if each.is_dir()), None)
    if found is None:
        raise ConfigurationError("The default policies are not packaged with the service.")
    try:
        return {name: (found / name / "default.json").read_bytes() for name in kinds}
    except OSError as error:
        raise ConfigurationError(
            f"A default policy is not packaged with the service: {error.filename}"
        ) from None
