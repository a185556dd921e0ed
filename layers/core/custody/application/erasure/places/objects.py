"""What was made of each version in the bucket: its pinned bytes, its chunks, its vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from custody.application.ports import ObjectStore
from custody.domain.ledger.erasures import Erasure
from custody.domain.model import DocumentKey
from custody.domain.storage import object_keys
from custody.errors import Unavailable


def delete_every_version(objects: ObjectStore, key: str) -> None:
    """Read back by deleting again: it lists every version, not only the current one."""
    objects.delete_object(key)
    if objects.delete_object(key) != 0:
        raise Unavailable("An object is left.", code="store-unavailable")


def erase_raw(objects: ObjectStore, key: DocumentKey, version: int) -> None:
    delete_every_version(objects, object_keys.raw(key, version))


def erase_folder(objects: ObjectStore, kind: str, key: DocumentKey, version: int) -> None:
    """``kind``: as in ``object_keys.folder``, where each version has a folder of its own."""
    prefix = f"{object_keys.folder(kind, key)}{version}/"
    objects.delete(prefix)
    if objects.exists(prefix):
        raise Unavailable("Objects are left.", code="store-unavailable")


@dataclass(frozen=True, slots=True)
class RawObjects:
    name: ClassVar[str] = "objects/raw"
    objects: ObjectStore

    def concerns(self, _: Erasure) -> bool:
        return True

    def erase(self, erasure: Erasure) -> str | None:
        for version in range(1, erasure.through_version + 1):
            erase_raw(self.objects, erasure.key, version)
        return None


@dataclass(frozen=True, slots=True)
class VersionFolders:
    """``kind``: as ``erase_folder`` takes it."""

    objects: ObjectStore
    kind: str

    @property
    def name(self) -> str:
        return f"objects/{self.kind}"

    def concerns(self, _: Erasure) -> bool:
        return True

    def erase(self, erasure: Erasure) -> str | None:
        for version in range(1, erasure.through_version + 1):
            erase_folder(self.objects, self.kind, erasure.key, version)
        return None
