"""What was made of each version in the bucket: its pinned bytes, its chunks, its vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from custody.application.ports import ObjectStore
from custody.domain.ledger.erasures import Erasure
from custody.domain.storage import object_keys
from custody.errors import Unavailable


def delete_every_version(objects: ObjectStore, key: str) -> None:
    """Read back by deleting again: it lists every version, not only the current one."""
    objects.delete_object(key)
    if objects.delete_object(key) != 0:
        raise Unavailable("An object is left.", code="store-unavailable")


@dataclass(frozen=True, slots=True)
class RawObjects:
    name: ClassVar[str] = "objects/raw"
    objects: ObjectStore

    def concerns(self, _: Erasure) -> bool:
        return True

    def erase(self, erasure: Erasure) -> str | None:
        for version in range(1, erasure.through_version + 1):
            delete_every_version(self.objects, object_keys.raw(erasure.key, version))
        return None


@dataclass(frozen=True, slots=True)
class VersionFolders:
    """``kind``: as in ``object_keys.folder``, where each version has a folder of its own."""

    objects: ObjectStore
    kind: str

    @property
    def name(self) -> str:
        return f"objects/{self.kind}"

    def concerns(self, _: Erasure) -> bool:
        return True

    def erase(self, erasure: Erasure) -> str | None:
        for version in range(1, erasure.through_version + 1):
            prefix = f"{object_keys.folder(self.kind, erasure.key)}{version}/"
            self.objects.delete(prefix)
            if self.objects.exists(prefix):
                raise Unavailable("Objects are left.", code="store-unavailable")
        return None
