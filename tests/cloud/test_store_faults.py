"""Faults between a store and an S3 server: errors, lost replies, cut connections, refused conditions."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import ObjectChangedError, ObjectExistsError, ObjectStoreError
from tests.cloud.fault_proxy import KEY_ID, LIMITS, SECRET, FaultProxy, ProxiedRequest
from tests.support.buckets import send_file, write_over

LARGE = bytes(range(256)) * (11 << 6)  # 176 KiB: eleven parts
ALWAYS = 1000


def writes(request: ProxiedRequest) -> bool:
    return request.method == "PUT"


def is_part(request: ProxiedRequest) -> bool:
    return "partNumber=2" in request.query


def completes(request: ProxiedRequest) -> bool:
    return request.method == "POST" and request.query.startswith("uploadId=")


@pytest.fixture
def store(proxied_store: ObjectStore) -> ObjectStore:
    return proxied_store


async def names(store: ObjectStore) -> list[str]:
    return [info.name async for info in store.list()]


def open_uploads(proxy: FaultProxy) -> int:
    """Multipart uploads that were begun, and neither completed nor aborted."""
    begun = sum(request.method == "POST" and request.query == "uploads=" for request in proxy.requests)
    uploads = {request.query for request in proxy.requests if completes(request)}
    aborted = {request.query for request in proxy.requests if request.method == "DELETE"}
    return begun - len(uploads | aborted)


@pytest.mark.parametrize("kind", ["500 applied", "lost"])
async def test_a_conditional_write_with_a_lost_reply_has_succeeded(
    store: ObjectStore, proxy: FaultProxy, kind: str
) -> None:
    proxy.add(kind, writes)
    first = await store.put_new("a", b"1")
    assert first is not None
    assert first == (await store.head("a")).etag
    proxy.add(kind, writes)
    second = await store.replace("a", b"2", first)
    assert second == (await store.head("a")).etag != first


async def test_a_create_that_meets_a_delete_is_tried_again(store: ObjectStore, proxy: FaultProxy) -> None:
    proxy.add("409", writes)
    await store.put_new("a", b"mine")
    assert (await store.get("a")).data == b"mine"


async def test_a_lost_reply_does_not_hide_that_another_writer_was_first(
    store: ObjectStore, proxy: FaultProxy
) -> None:
    await store.put_new("a", b"theirs")
    proxy.add("500", writes)
    with pytest.raises(ObjectExistsError):
        await store.put_new("a", b"mine")


OPERATIONS = ["read", "list", "upload", "delete"]
KINDS = ("short", "lost", "cut", "500", "429")
PASSING = [(each, KINDS[(place + more) % 5]) for place, each in enumerate(OPERATIONS) for more in range(3)]


@pytest.mark.parametrize(("operation", "kind"), [*PASSING, ("delete", "busy")])
async def test_a_passing_fault_ends_no_operation_that_may_be_repeated(
    store: ObjectStore, proxy: FaultProxy, tmp_path: Path, operation: str, kind: str
) -> None:
    await store.put_new("a", b"content" * 1000)
    (tmp_path / "file").write_bytes(b"sent")
    proxy.add(kind, lambda request: request.method != "HEAD", LIMITS.retries)
    if operation == "read":
        assert (await store.get("a")).data == b"content" * 1000
    elif operation == "list":
        assert await names(store) == ["a"]
    elif operation == "upload":
        await send_file(store, "a", tmp_path / "file")
        assert (await store.head("a")).size == 4
    else:
        await store.delete("a")
        proxy.clear()
        assert await names(store) == []


@pytest.mark.parametrize(
    ("kind", "words"), [("short", "ended before the reply"), ("busy", "answered 200 SlowDown")]
)
async def test_a_fault_that_does_not_pass_is_named_after_the_bounded_repetitions(
    store: ObjectStore, proxy: FaultProxy, kind: str, words: str
) -> None:
    await store.put_new("a", b"1")
    proxy.add(kind, lambda request: request.method == "POST", ALWAYS)
    with pytest.raises(ObjectStoreError, match=rf"could not delete .*/a: .*{words}") as caught:
        await store.delete("a")
    assert KEY_ID not in str(caught.value)
    assert sum(request.method == "POST" for request in proxy.requests) == LIMITS.retries + 1


async def test_a_store_that_never_answers_is_named_soon(store: ObjectStore, proxy: FaultProxy) -> None:
    held = proxy.hold(lambda _: True)
    with pytest.raises(ObjectStoreError, match=r"^s3://bucket.* did not answer within 0.05 s: check the net"):
        await store.check_reachable(0.05)
    held.release.set()
    for status in ("404", "403"):
        proxy.add(status, lambda request: request.method == "HEAD")
        await store.check_reachable()
    proxy.add("cut", lambda request: request.method == "HEAD", ALWAYS)
    with pytest.raises(ObjectStoreError, match="could not read"):
        await store.check_reachable()


@pytest.mark.parametrize("status", ["403", "500"])
async def test_no_error_or_log_holds_a_credential(
    store: ObjectStore, proxy: FaultProxy, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.add(status, lambda _: True, ALWAYS)
    caplog.set_level(logging.DEBUG)
    operations: list[Callable[[], Awaitable[object]]] = [
        lambda: store.get("a"), lambda: store.head("a"), lambda: store.put_new("a", b"1"),
        lambda: store.replace("a", b"1", '"etag"'), lambda: names(store),
    ]  # fmt: skip
    for operation in operations:
        with pytest.raises(ObjectStoreError) as caught:
            await operation()
        frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True).stack
        shown = "".join(str(frame.locals) for frame in frames if "cloud/test_" not in frame.filename)
        chain = f"{caught.value.__cause__!r} {caught.value.__context__!r}"
        for secret in (KEY_ID, SECRET):
            assert secret not in str(caught.value) + caplog.text
            assert secret not in chain
            assert secret not in shown
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "matches"),
    [
        ("500", is_part), ("cut", is_part), ("500 applied", completes), ("lost", completes),
    ],
)  # fmt: skip
async def test_a_passing_fault_of_an_upload_is_not_noticed(
    store: ObjectStore,
    proxy: FaultProxy,
    tmp_path: Path,
    kind: str,
    matches: Callable[[ProxiedRequest], bool],
) -> None:
    (tmp_path / "file").write_bytes(LARGE)
    proxy.add(kind, matches)
    await send_file(store, "a", tmp_path / "file")
    assert (await store.get("a")).data == LARGE
    assert open_uploads(proxy) == 0


@pytest.mark.parametrize("matches", [is_part, completes])
async def test_an_upload_that_fails_is_aborted_and_leaves_no_object(
    store: ObjectStore, proxy: FaultProxy, tmp_path: Path, matches: Callable[[ProxiedRequest], bool]
) -> None:
    (tmp_path / "file").write_bytes(LARGE)
    proxy.add("500", matches, ALWAYS)
    with pytest.raises(ObjectStoreError, match=r"could not write .*/a: the store answered 500"):
        await send_file(store, "a", tmp_path / "file")
    assert await names(store) == []
    assert any(request.method == "DELETE" for request in proxy.requests)
    assert open_uploads(proxy) == 0


async def test_a_cancelled_upload_is_aborted_and_leaves_no_object(
    store: ObjectStore, proxy: FaultProxy, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(LARGE)
    held = proxy.hold(lambda request: "partNumber" in request.query, ALWAYS)
    task = asyncio.create_task(send_file(store, "a", tmp_path / "file"))
    await held.reached.wait()
    task.cancel()
    await asyncio.sleep(0)  # the cancellation is delivered
    held.release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await names(store) == []
    assert open_uploads(proxy) == 0


async def test_a_store_that_stored_other_bytes_is_noticed(
    store: ObjectStore, proxy: FaultProxy, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"content")
    proxy.truncates = True
    with pytest.raises(ObjectStoreError, match="7 bytes were sent, and the store has 3"):
        await send_file(store, "a", tmp_path / "file")


async def test_an_object_that_changes_during_a_read_is_noticed(
    store: ObjectStore, proxy: FaultProxy, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(LARGE)
    await send_file(store, "a", tmp_path / "file")
    held = proxy.hold(lambda request: request.method == "GET")
    task = asyncio.create_task(store.download("a", tmp_path / "back"))
    await held.reached.wait()
    await write_over(store, "a", LARGE[1:])
    held.release.set()
    with pytest.raises(ObjectChangedError):
        await task
    assert not (tmp_path / "back").exists()
