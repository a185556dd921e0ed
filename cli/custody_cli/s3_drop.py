"""Puts files where the service looks for drops: ``incoming/<tenant>/<source_id>/<path>``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from custody_cli.errors import UNABLE, CommandError
from custody_cli.sources_on_disk import SIDECAR, FileItem

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3Drop:
    """``aws``: keyword arguments of a boto3 session; empty takes the environment's own."""

    def __init__(
        self, bucket: str, tenant: str, *, endpoint_url: str | None, aws: Mapping[str, str]
    ) -> None:
        import boto3
        from botocore.config import Config

        config = Config(
            connect_timeout=5,
            read_timeout=60,
            retries={"mode": "standard", "max_attempts": 4},
            s3={"addressing_style": "path"} if endpoint_url else {},
        )
        session = boto3.Session(**aws)  # type: ignore[arg-type]  # a session takes only strings
        self._client: S3Client = session.client("s3", endpoint_url=endpoint_url, config=config)
        self._bucket = bucket
        self._prefix = f"incoming/{tenant}/"

    def put(self, source_id: str, item: FileItem) -> str | None:
        """The sidecar goes first, so that the file is never seen without it. Returns the version
        id of the file. Raises CommandError (exit code 2) when the store doesn't take it."""
        if item.sidecar is not None:
            self.put_bytes(
                source_id, item.name + SIDECAR, item.sidecar.read_bytes(), "application/json"
            )
        return self.put_file(source_id, item.name, item.path, item.content_type)

    def put_file(self, source_id: str, name: str, path: Path, content_type: str) -> str | None:
        return self.put_bytes(source_id, name, path.read_bytes(), content_type)

    def put_bytes(self, source_id: str, name: str, content: bytes, content_type: str) -> str | None:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            reply = self._client.put_object(
                Bucket=self._bucket,
                Key=f"{self._prefix}{source_id}/{name}",
                Body=content,
                ContentType=content_type,
            )
        except (BotoCoreError, ClientError) as error:
            raise CommandError(
                UNABLE,
                "drop-refused",
                f"{name} could not be dropped into {self._bucket}: {error}",
                "Check the AWS credentials and the bucket's name, or use --via api.",
            ) from error
        return reply.get("VersionId")
