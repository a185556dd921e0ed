"""What was made of each version in the bucket: its pinned bytes, its chunks, its vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from custody.application.ports import ObjectStore, ObjectVersion, VersionReads
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


def _delete(objects: ObjectStore, folder: str, doomed: Callable[[ObjectVersion], bool]) -> None:
    objects.delete(folder, doomed=doomed)
    if any(doomed(found) for found in objects.versions(folder)):
        raise Unavailable("Objects are left.", code="store-unavailable")


def _version_of(found: ObjectVersion, folder: str) -> int:
    """Which version of the document it was made for. Nothing else lies there: what does is taken
    for the first."""
    number = found.key.removeprefix(folder).partition("/")[0]
    return int(number) if number.isdecimal() else 1


@dataclass(frozen=True, slots=True)
class RawObjects:
    """And what nobody knows of: bytes that were put for a version which was never accepted, since
    whoever put them was killed or overtaken. No record pins them, and they came before the request."""

    name: ClassVar[str] = "objects/raw"
    ledger: VersionReads
    objects: ObjectStore

    def concerns(self, _: Erasure) -> bool:
        return True

    def erase(self, erasure: Erasure) -> str | None:
        folder = object_keys.folder("raw", erasure.key)

        def doomed(found: ObjectVersion) -> bool:
            version = _version_of(found, folder)
            if version <= erasure.through_version:
                return True
            return found.last_modified <= erasure.requested_at and not self._is_pinned(
                erasure.key, version, found
            )

        _delete(self.objects, folder, doomed)
        return None

    def _is_pinned(self, key: DocumentKey, version: int, found: ObjectVersion) -> bool:
        record = self.ledger.version(key, version)
        return record is not None and (record.raw.key, record.raw.version_id) == found[:2]


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
        folder = object_keys.folder(self.kind, erasure.key)
        _delete(
            self.objects,
            folder,
            lambda found: _version_of(found, folder) <= erasure.through_version,
        )
        return None
