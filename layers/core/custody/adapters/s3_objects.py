"""One versioned S3 bucket.

Besides object rights, the role needs ``s3:ListBucket``: without it S3 answers 403, not 404, for a
key that isn't there, and that is a fault, not an absence. Deleting needs
``s3:ListBucketVersions``, ``s3:DeleteObject`` and ``s3:DeleteObjectVersion``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from custody.application.ports import Clock, ObjectVersion, StoredObject, Upload
from custody.domain.model import ObjectRef
from custody.errors import ConfigurationError, CustodyError, NotFound, TooLarge, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import (
        ListObjectVersionsOutputTypeDef,
        ObjectIdentifierTypeDef,
    )

_DELETE_BATCH = 1000  # the API's limit for DeleteObjects
_DELETE_TRIES = 4
_FIRST_PAUSE = 0.2  # seconds, doubled at each repeat
_ABSENT = frozenset({"404", "NoSuchKey", "NoSuchVersion", "NotFound"})
# A pinned version that turns out to be a delete marker answers 405; one that S3 never issued, 400.
_NO_SUCH_VERSION = _ABSENT | {"405", "MethodNotAllowed", "InvalidArgument"}


def connect(
    *,
    endpoint_url: str | None = None,
    connect_timeout: float = 2.0,
    read_timeout: float = 10.0,
    attempts: int = 3,
) -> S3Client:
    """A client that signs with SigV4 (presigned URLs too) and gives up. Times in seconds."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint_url,
        config=Config(
            signature_version="s3v4",
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            retries={"mode": "standard", "total_max_attempts": attempts},
            tcp_keepalive=True,
            # An uploader holds no checksum of ours: the presigned URL must not ask for one.
            request_checksum_calculation="when_required",
        ),
    )


class S3Objects:
    def __init__(
        self,
        client: S3Client,
        bucket: str,
        clock: Clock,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._clock = clock
        self._sleep = sleep

    # reading

    def head(self, key: str) -> StoredObject | None:
        try:
            reply = self._client.head_object(Bucket=self._bucket, Key=key)
        except (ClientError, BotoCoreError) as error:
            if _code(error) in _ABSENT:
                return None
            raise _unavailable(error) from error
        return StoredObject(
            ref=ObjectRef(key, _version_id(reply.get("VersionId")), reply["ContentLength"]),
            content_type=reply.get("ContentType"),
            last_modified=reply["LastModified"],
            metadata=reply["Metadata"],
        )

    def get(self, ref: ObjectRef, *, limit: int) -> bytes:
        try:
            reply = self._client.get_object(
                Bucket=self._bucket, Key=ref.key, VersionId=ref.version_id
            )
            with reply["Body"] as stream:
                if reply["ContentLength"] > limit:
                    raise TooLarge("The object is above the limit.", code="object-too-large")
                return stream.read()
        except (ClientError, BotoCoreError) as error:
            raise _missing_or_unavailable(error) from error

    def versions(self, prefix: str) -> Iterator[ObjectVersion]:
        for page in self._pages(prefix):
            yield from page

    def exists(self, prefix: str) -> bool:
        """A delete marker counts: it still tells that the key was there."""
        try:
            page = self._client.list_object_versions(Bucket=self._bucket, Prefix=prefix, MaxKeys=1)
        except (ClientError, BotoCoreError) as error:
            raise _unavailable(error) from error
        return bool(page.get("Versions") or page.get("DeleteMarkers"))

    # writing

    def put(
        self, key: str, body: bytes, *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> ObjectRef:
        try:
            reply = self._client.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=body,
                ContentType=content_type,
                Metadata=dict(metadata or {}),
                ChecksumAlgorithm="SHA256",
            )
        except (ClientError, BotoCoreError) as error:
            raise _unavailable(error) from error
        return ObjectRef(key, _version_id(reply.get("VersionId")), len(body))

    def copy(self, source: ObjectRef, key: str) -> ObjectRef:
        try:
            reply = self._client.copy_object(
                Bucket=self._bucket,
                Key=key,
                CopySource={
                    "Bucket": self._bucket,
                    "Key": source.key,
                    "VersionId": source.version_id,
                },
            )
            version_id = _version_id(reply.get("VersionId"))
            size = source.size
            if not size:
                size = self._client.head_object(Bucket=self._bucket, Key=key, VersionId=version_id)[
                    "ContentLength"
                ]
        except (ClientError, BotoCoreError) as error:
            raise _missing_or_unavailable(error) from error
        return ObjectRef(key, version_id, size)

    def presign_put(self, key: str, *, content_type: str, size: int, seconds: int) -> Upload:
        """Type and length are part of the signature: another type or length is refused by S3."""
        expires_at = self._clock.now() + timedelta(seconds=seconds)
        try:
            url = self._client.generate_presigned_url(
                "put_object",
                Params={
                    "Bucket": self._bucket,
                    "Key": key,
                    "ContentType": content_type,
                    "ContentLength": size,
                },
                ExpiresIn=seconds,
            )
        except (ClientError, BotoCoreError) as error:
            raise _unavailable(error) from error
        headers = {"Content-Type": content_type, "Content-Length": str(size)}
        return Upload(url, headers, expires_at)

    # deleting

    def delete(self, prefix: str, *, doomed: Callable[[ObjectVersion], bool] | None = None) -> int:
        if not prefix:
            raise ConfigurationError("An empty prefix would empty the bucket.")

        def condemned() -> Iterator[list[ObjectVersion]]:
            for found in self._pages(prefix):
                yield [one for one in found if doomed is None or doomed(one)]

        return self._until_none_left(condemned)

    def delete_object(self, key: str, *, keep: Collection[str] = ()) -> int:
        def condemned() -> Iterator[list[ObjectVersion]]:
            for found in self._pages(key):
                own = [one for one in found if one.key == key]
                yield [one for one in own if one.version_id not in keep]
                if len(own) < len(found):
                    return  # keys come in order: what follows only begins with this key

        return self._until_none_left(condemned)

    def _until_none_left(self, pages: Callable[[], Iterator[list[ObjectVersion]]]) -> int:
        """Lists again after deleting: a page may start after a version that is gone by then, and
        the last listing is the proof that nothing was passed over."""
        deleted = 0
        while True:
            now = 0
            for page in pages():
                for start in range(0, len(page), _DELETE_BATCH):
                    batch = page[start : start + _DELETE_BATCH]
                    self._delete_batch(
                        [{"Key": one.key, "VersionId": one.version_id} for one in batch]
                    )
                now += len(page)
            if not now:
                return deleted
            deleted += now

    def _pages(self, prefix: str) -> Iterator[list[ObjectVersion]]:
        paginator = self._client.get_paginator("list_object_versions")
        try:
            for page in paginator.paginate(Bucket=self._bucket, Prefix=prefix):
                yield list(_versions(page))
        except (ClientError, BotoCoreError) as error:
            raise _unavailable(error) from error

    def _delete_batch(self, left: list[ObjectIdentifierTypeDef]) -> None:
        """The reply is 200 even where single deletions failed: those are repeated, then told."""
        codes: set[str] = set()
        for attempt in range(_DELETE_TRIES):
            if attempt:
                self._sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                reply = self._client.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": left, "Quiet": True}
                )
            except (ClientError, BotoCoreError) as error:
                raise _unavailable(error) from error
            errors = reply.get("Errors", [])
            codes = {error.get("Code", "") for error in errors} - {"NoSuchVersion", "NoSuchKey"}
            if not codes:
                return
            failed = {(error.get("Key"), error.get("VersionId")) for error in errors}
            left = [one for one in left if (one["Key"], one.get("VersionId")) in failed]
        raise Unavailable(
            f"{len(left)} object versions could not be deleted: {', '.join(sorted(codes))}.",
            code="store-unavailable",
        )


def _versions(page: ListObjectVersionsOutputTypeDef) -> Iterator[ObjectVersion]:
    for version in page.get("Versions", ()):
        yield ObjectVersion(version["Key"], version["VersionId"], version["LastModified"])
    for marker in page.get("DeleteMarkers", ()):
        yield ObjectVersion(marker["Key"], marker["VersionId"], marker["LastModified"])


def _version_id(version_id: str | None) -> str:
    if version_id in (None, "", "null"):
        raise ConfigurationError("The bucket keeps no versions.", code="bucket-not-versioned")
    assert version_id is not None
    return version_id


def _code(error: ClientError | BotoCoreError) -> str:
    if isinstance(error, ClientError):
        return error.response.get("Error", {}).get("Code", "")
    return type(error).__name__


def _unavailable(error: ClientError | BotoCoreError) -> Unavailable:
    return Unavailable(f"The object store can't answer: {_code(error)}.", code="store-unavailable")


def _missing_or_unavailable(error: ClientError | BotoCoreError) -> CustodyError:
    if _code(error) in _NO_SUCH_VERSION:
        return NotFound("That version of the object is gone.")
    return _unavailable(error)
