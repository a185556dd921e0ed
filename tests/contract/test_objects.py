"""What every object store must do: one suite, in memory and on S3's API."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from custody.adapters import s3_objects
from custody.adapters.s3_objects import S3Objects
from custody.application.ports import ObjectStore
from custody.domain.model import ObjectRef
from custody.errors import ConfigurationError, NotFound, TooLarge, Unavailable
from custody_memory.objects import MemoryObjects
from tests.support.faulty import Call, Fault, Faulty, lost_request, refused

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEXT = "text/plain"


class StoppedClock:
    def now(self) -> datetime:
        return NOW


@pytest.fixture(scope="module")
def client(aws_endpoint: str) -> Iterator[S3Client]:
    client = s3_objects.connect(endpoint_url=aws_endpoint, read_timeout=60)
    yield client
    client.close()


def new_bucket(client: S3Client, *, versioned: bool = True) -> str:
    bucket = f"objects-{uuid.uuid4().hex}"
    client.create_bucket(Bucket=bucket)
    if versioned:
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return bucket


@pytest.fixture(scope="module")
def bucket(client: S3Client) -> str:
    return new_bucket(client)


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.emulator)])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    if request.param == "memory":
        return MemoryObjects(StoppedClock())
    client, bucket = request.getfixturevalue("client"), request.getfixturevalue("bucket")
    return S3Objects(client, bucket, StoppedClock(), sleep=lambda _: None)


@pytest.fixture
def prefix() -> str:
    """Of this test alone: the bucket is shared."""
    return f"raw/{uuid.uuid4().hex}/"


def mark_deleted(store: ObjectStore, request: pytest.FixtureRequest, key: str) -> None:
    if isinstance(store, MemoryObjects):
        store.mark_deleted(key)
    else:
        client, bucket = request.getfixturevalue("client"), request.getfixturevalue("bucket")
        client.delete_object(Bucket=bucket, Key=key)


def test_what_is_put_comes_back_as_it_was(store: ObjectStore, prefix: str) -> None:
    key = prefix + "ordner/ü + %20 =.md"
    ref = store.put(key, b"one\x00\xff", content_type=TEXT, metadata={"owner": "ann"})
    assert (ref.key, ref.size) == (key, 5)
    assert store.get(ref, limit=5) == b"one\x00\xff"
    found = store.head(key)
    assert found is not None
    assert found.ref == ref
    assert (found.content_type, dict(found.metadata)) == (TEXT, {"owner": "ann"})
    assert found.last_modified.tzinfo is not None


def test_an_empty_object_is_an_object(store: ObjectStore, prefix: str) -> None:
    ref = store.put(prefix + "empty", b"", content_type=TEXT)
    assert store.get(ref, limit=0) == b""
    found = store.head(prefix + "empty")
    assert found is not None
    assert found.ref.size == 0


def test_a_pinned_version_does_not_change(
    store: ObjectStore, prefix: str, request: pytest.FixtureRequest
) -> None:
    first = store.put(prefix + "a", b"one", content_type=TEXT)
    second = store.put(prefix + "a", b"two", content_type=TEXT)
    mark_deleted(store, request, prefix + "a")
    assert store.get(first, limit=9) == b"one"
    assert store.get(second, limit=9) == b"two"
    assert store.head(prefix + "a") is None


def test_what_is_not_there_is_not_found(store: ObjectStore, prefix: str) -> None:
    assert store.head(prefix + "none") is None
    ref = store.put(prefix + "a", b"one", content_type=TEXT)
    for missing in (
        ObjectRef(prefix + "none", ref.version_id),
        ObjectRef(prefix + "a", "no-such-version"),
    ):
        with pytest.raises(NotFound):
            store.get(missing, limit=9)
        with pytest.raises(NotFound):
            store.copy(missing, prefix + "copy")
    store.delete_object(prefix + "a")
    with pytest.raises(NotFound):
        store.get(ref, limit=9)
    assert store.head(prefix + "copy") is None


def test_an_object_above_the_limit_is_refused(store: ObjectStore, prefix: str) -> None:
    ref = store.put(prefix + "a", b"12345", content_type=TEXT)
    with pytest.raises(TooLarge) as refused_:
        store.get(ref, limit=4)
    assert refused_.value.code == "object-too-large"


def test_a_copy_is_of_the_pinned_version(store: ObjectStore, prefix: str) -> None:
    key = prefix + "ü b+c.md"
    first = store.put(key, b"one", content_type=TEXT, metadata={"owner": "ann"})
    store.put(key, b"newer", content_type="text/html")
    copied = store.copy(ObjectRef(first.key, first.version_id), prefix + "copy of ü.md")
    assert (copied.key, copied.size) == (prefix + "copy of ü.md", 3)
    assert store.get(copied, limit=9) == b"one"
    found = store.head(copied.key)
    assert found is not None
    assert (found.ref, found.content_type) == (copied, TEXT)
    assert dict(found.metadata) == {"owner": "ann"}


def test_deleting_a_prefix_takes_every_version_and_marker(
    store: ObjectStore, prefix: str, request: pytest.FixtureRequest
) -> None:
    refs = [store.put(f"{prefix}d/{n % 3}", b"x", content_type=TEXT) for n in range(6)]
    mark_deleted(store, request, prefix + "d/0")
    near = store.put(prefix + "e", b"kept", content_type=TEXT)
    assert store.exists(prefix + "d/")
    assert store.delete(prefix + "d/") == 7
    assert not store.exists(prefix + "d/")
    for ref in refs:
        with pytest.raises(NotFound):
            store.get(ref, limit=9)
    assert store.get(near, limit=9) == b"kept"
    assert store.delete(prefix + "d/") == 0


def test_of_a_prefix_only_what_is_doomed_goes(
    store: ObjectStore, prefix: str, request: pytest.FixtureRequest
) -> None:
    kept = store.put(f"{prefix}d/1", b"kept", content_type=TEXT)
    gone = [store.put(f"{prefix}d/{n}", b"x", content_type=TEXT) for n in (1, 2, 2)]
    mark_deleted(store, request, prefix + "d/2")
    before = list(store.versions(prefix))
    assert {one.key for one in before} == {f"{prefix}d/1", f"{prefix}d/2"}
    assert len(before) == len({one.version_id for one in before}) == 5
    now = NOW if isinstance(store, MemoryObjects) else datetime.now(UTC)
    assert all(abs(one.last_modified - now) < timedelta(hours=1) for one in before)
    assert store.delete(prefix, doomed=lambda one: one.version_id != kept.version_id) == 4
    assert store.get(kept, limit=9) == b"kept"
    for ref in gone:
        with pytest.raises(NotFound):
            store.get(ref, limit=9)
    assert [one.version_id for one in store.versions(prefix)] == [kept.version_id]


def test_deleting_an_object_leaves_its_namesakes_and_what_is_kept(
    store: ObjectStore, prefix: str, request: pytest.FixtureRequest
) -> None:
    kept = store.put(prefix + "a", b"kept", content_type=TEXT)
    gone = [store.put(prefix + "a", b"x", content_type=TEXT) for _ in range(3)]
    mark_deleted(store, request, prefix + "a")
    beside = [store.put(prefix + name, b"y", content_type=TEXT) for name in ("a.json", "a/b")]
    assert store.delete_object(prefix + "a", keep=[kept.version_id]) == 4
    assert store.get(kept, limit=9) == b"kept"
    for ref in gone:
        with pytest.raises(NotFound):
            store.get(ref, limit=9)
    assert store.delete_object(prefix + "a") == 1
    assert store.delete_object(prefix + "a") == 0
    assert [store.get(ref, limit=9) for ref in beside] == [b"y", b"y"]


def test_a_delete_marker_alone_still_exists(
    store: ObjectStore, prefix: str, request: pytest.FixtureRequest
) -> None:
    ref = store.put(prefix + "a", b"x", content_type=TEXT)
    mark_deleted(store, request, prefix + "a")
    marker_left = store.delete_object(prefix + "b") == 0 and store.exists(prefix)
    assert marker_left
    assert store.delete_object(ref.key) == 2
    assert not store.exists(prefix)


def test_an_upload_tells_what_to_send_and_until_when(store: ObjectStore, prefix: str) -> None:
    upload = store.presign_put(prefix + "up", content_type=TEXT, size=5, seconds=900)
    assert upload.expires_at == NOW + timedelta(seconds=900)
    assert dict(upload.headers) == {"Content-Type": TEXT, "Content-Length": "5"}


# S3 alone


@pytest.mark.emulator
def test_a_presigned_upload_is_signed_over_type_and_length(
    client: S3Client, bucket: str, prefix: str
) -> None:
    store = S3Objects(client, bucket, StoppedClock())
    upload = store.presign_put(prefix + "ü p", content_type="text/html", size=5, seconds=900)
    query = parse_qs(urlsplit(upload.url).query)
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert query["X-Amz-Expires"] == ["900"]
    assert set(query["X-Amz-SignedHeaders"][0].split(";")) == {
        "content-length",
        "content-type",
        "host",
    }
    reply = httpx2.put(upload.url, content=b"hello", headers=dict(upload.headers))
    assert reply.status_code == 200
    found = store.head(prefix + "ü p")
    assert found is not None
    assert (found.ref.size, found.content_type) == (5, "text/html")
    assert store.get(found.ref, limit=5) == b"hello"


@pytest.mark.emulator
@pytest.mark.slow
def test_more_than_one_batch_of_versions_is_deleted(
    client: S3Client, bucket: str, prefix: str
) -> None:
    store = S3Objects(client, bucket, StoppedClock())
    for _ in range(1003):
        client.put_object(Bucket=bucket, Key=prefix + "a", Body=b"")
    client.put_object(Bucket=bucket, Key=prefix + "a.json", Body=b"")
    counted = Faulty(client, {})
    assert S3Objects(counted, bucket, StoppedClock()).delete_object(prefix + "a") == 1003  # type: ignore[arg-type]  # stands for the client
    sizes = [
        len(arguments["Delete"]["Objects"])
        for method, arguments in counted.calls
        if method == "delete_objects"
    ]
    assert sum(sizes) == 1003
    assert max(sizes) <= 1000
    assert store.head(prefix + "a.json") is not None


def first_refused(call: Call, arguments: dict[str, Any]) -> Any:
    """All but the first deletion of the batch take place."""
    first, *others = arguments["Delete"]["Objects"]
    if others:
        call(**arguments | {"Delete": {"Objects": others, "Quiet": True}})
    return {"Errors": [{**first, "Code": "InternalError", "Message": "no"}]}


@pytest.mark.emulator
def test_deletions_that_failed_are_repeated(client: S3Client, bucket: str, prefix: str) -> None:
    pauses: list[float] = []
    faulty = Faulty(client, {"delete_objects": [first_refused, first_refused]})
    store = S3Objects(faulty, bucket, StoppedClock(), sleep=pauses.append)  # type: ignore[arg-type]  # stands for the client
    for number in range(4):
        store.put(f"{prefix}{number}", b"x", content_type=TEXT)
    assert store.delete(prefix) == 4
    assert not store.exists(prefix)
    assert len(pauses) == 2


@pytest.mark.emulator
def test_deletions_that_keep_failing_are_told(client: S3Client, bucket: str, prefix: str) -> None:
    faulty = Faulty(client, {"delete_objects": repeat(first_refused)})
    store = S3Objects(faulty, bucket, StoppedClock(), sleep=lambda _: None)  # type: ignore[arg-type]  # stands for the client
    store.put(prefix + "a", b"x", content_type=TEXT)
    with pytest.raises(Unavailable) as unavailable:
        store.delete(prefix)
    assert unavailable.value.code == "store-unavailable"
    assert store.exists(prefix)


@pytest.mark.emulator
def test_an_empty_prefix_never_empties_the_bucket(client: S3Client, bucket: str) -> None:
    with pytest.raises(ConfigurationError):
        S3Objects(client, bucket, StoppedClock()).delete("")


@pytest.mark.emulator
def test_a_bucket_without_versions_is_refused(client: S3Client) -> None:
    bucket = new_bucket(client, versioned=False)
    store = S3Objects(client, bucket, StoppedClock())
    with pytest.raises(ConfigurationError) as refused_:
        store.put("a", b"x", content_type=TEXT)
    assert refused_.value.code == "bucket-not-versioned"


@pytest.mark.emulator
@pytest.mark.parametrize(
    "fault", [lost_request, refused("403", status=403), refused("SlowDown", status=503)]
)
def test_a_store_that_cannot_answer_is_unavailable(
    client: S3Client, bucket: str, fault: Fault
) -> None:
    methods = (
        "head_object",
        "get_object",
        "put_object",
        "copy_object",
        "list_object_versions",
        "delete_objects",
    )
    faulty = Faulty(client, {method: repeat(fault) for method in methods})
    store = S3Objects(faulty, bucket, StoppedClock(), sleep=lambda _: None)  # type: ignore[arg-type]  # stands for the client
    ref = S3Objects(client, bucket, StoppedClock()).put("outage/a", b"x", content_type=TEXT)
    calls: list[Callable[[], object]] = [
        lambda: store.head("outage/a"),
        lambda: store.get(ref, limit=9),
        lambda: store.put("outage/b", b"x", content_type=TEXT),
        lambda: store.copy(ref, "outage/c"),
        lambda: store.exists("outage/"),
        lambda: store.delete("outage/"),
    ]
    for call in calls:
        with pytest.raises(Unavailable) as unavailable:
            call()
        assert unavailable.value.code == "store-unavailable"


@pytest.mark.emulator
def test_bytes_that_change_on_the_way_are_refused(
    aws_endpoint: str, bucket: str, prefix: str
) -> None:
    client = s3_objects.connect(endpoint_url=aws_endpoint, read_timeout=60)

    def corrupt(request: Any, **_: Any) -> None:
        request.body = b"abd"

    client.meta.events.register("before-send.s3.PutObject", corrupt)
    store = S3Objects(client, bucket, StoppedClock())
    with pytest.raises(Unavailable):
        store.put(prefix + "a", b"abc", content_type=TEXT)
    assert store.head(prefix + "a") is None
    client.close()
