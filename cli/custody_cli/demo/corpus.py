"""The demo's files, as they lie in examples/demo: ``<tenant>/<source>/<path>``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from custody_cli.errors import usage
from custody_cli.sources_on_disk import FileItem, collect

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "demo"


@dataclass(frozen=True, slots=True)
class Dropped:
    tenant: str
    source_id: str
    item: FileItem

    @property
    def key(self) -> tuple[str, str, str]:
        return self.tenant, self.source_id, self.item.name


def first_versions() -> list[Dropped]:
    return _of(FOLDER, ("harbour", "lakeside"))


def second_versions() -> list[Dropped]:
    return _of(FOLDER / "second-versions", ("harbour",))


def words(tenant: str) -> set[str]:
    """Every word of a tenant's text files."""
    found: set[str] = set()
    for one in first_versions():
        if one.tenant == tenant and one.item.path.suffix != ".pdf":
            found |= split(one.item.path.read_text(encoding="utf-8"))
    return found


def split(passage: str) -> set[str]:
    return set(re.findall(r"\w+", passage.casefold()))


def _of(folder: Path, tenants: tuple[str, ...]) -> list[Dropped]:
    if not folder.is_dir():
        raise usage(f"The demo's documents are not in {folder}.", "Run it from a whole checkout.")
    return [
        Dropped(tenant, source.name, item)
        for tenant in tenants
        for source in sorted((folder / tenant).iterdir())
        for item in collect([source]).files
    ]
