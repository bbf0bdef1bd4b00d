"""A store's operations, the same in memory and on an S3 server."""

import hashlib
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from chatrest._cloud.address import RequestLimits
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import (
    ObjectChangedError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectStoreError,
)
from chatrest.errors import RequestInvalidError
from tests.cloud.fault_proxy import PART_SIZE
from tests.support.buckets import memory_store, send_file
from tests.support.cases import loop_over

LARGE = bytes(range(256)) * (11 << 6)  # 176 KiB: eleven parts


async def names(store: ObjectStore, prefix: str = "") -> set[str]:
    return {info.name async for info in store.list(prefix)}


async def test_an_object_is_written_and_read(store: ObjectStore) -> None:
    etag = await store.put_new("a/b.json", b"content")
    stored = await store.get("a/b.json")
    assert (stored.data, stored.info.etag, stored.info.size) == (b"content", etag, 7)
    assert (await store.head("a/b.json")).etag == etag


async def test_an_object_is_created_only_where_there_is_none(store: ObjectStore) -> None:
    await store.put_new("a/b", b"first")
    with pytest.raises(ObjectExistsError, match=r"could not write .*a/b: "):
        await store.put_new("a/b", b"second")
    assert (await store.get("a/b")).data == b"first"
    assert await store.put_new("a", b"same") == await store.put_new("a", b"same"), "its reply was lost"


async def test_an_object_is_replaced_only_with_the_right_etag(store: ObjectStore) -> None:
    first = await store.put_new("a", b"1")
    assert first is not None
    second = await store.replace("a", b"2", first)
    assert second not in (None, first)
    with pytest.raises(ObjectChangedError):
        await store.replace("a", b"3", first)
    assert (await store.get("a")).data == b"2"
    for _ in range(2):
        await store.delete("a")
    with pytest.raises(ObjectChangedError):
        await store.replace("a", b"3", str(second))
    assert await names(store) == set()


async def test_a_missing_object_has_a_distinct_error(store: ObjectStore) -> None:
    for operation in (store.get("a"), store.head("a")):
        with pytest.raises(ObjectNotFoundError, match=r"could not read .*a: "):
            await operation


async def test_objects_are_listed_by_folder(store: ObjectStore) -> None:
    for name in ("x/1", "x/y/2", "xy/3", "4"):
        await store.put_new(name, name.encode())
    assert await names(store) == {"x/1", "x/y/2", "xy/3", "4"}
    assert await names(store, "x/") == {"x/1", "x/y/2"}
    assert await names(store, "nothing") == set()


@loop_over("name", ["../a", "/a", ""])
async def test_a_wrong_name_is_refused_before_anything_is_sent(name: str) -> None:
    store = memory_store()
    with pytest.raises(RequestInvalidError):
        await store.put_new(name, b"1")
    if name.strip("/"):
        with pytest.raises(RequestInvalidError, match="prefix = "):
            await names(store, name)


@pytest.mark.parametrize("operation", ["put_new", "replace"])
async def test_a_conditional_write_is_not_repeated(monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    store = memory_store(limits=RequestLimits(retries=2, first_wait=0.0))
    etag = await store.put_new("b", b"1")
    sent: list[str] = []

    async def lose(client: object, name: str, *_: object, **__: object) -> None:
        sent.append(name)
        raise ValueError("HTTP error: kind: Interrupted,")

    monkeypatch.setattr("obstore.put_async", lose)
    arguments = ["b", b"2", etag] if operation == "replace" else ["a", b"2"]
    with pytest.raises(ObjectStoreError, match="the connection ended before the reply"):
        await getattr(store, operation)(*arguments)
    assert len(sent) == 1


@pytest.mark.parametrize("content", [b"", b"small", LARGE], ids=["empty", "one part", "eleven parts"])
async def test_a_file_goes_there_and_back(store: ObjectStore, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "source").write_bytes(content)
    await send_file(store, "data/a", tmp_path / "source")
    await store.download("data/a", tmp_path / "new folder" / "target")
    assert (tmp_path / "new folder" / "target").read_bytes() == content
    assert [path.name for path in (tmp_path / "new folder").iterdir()] == ["target"]


async def test_a_large_object_is_not_in_memory_at_once(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put_new("a", LARGE)
    monkeypatch.setattr(ObjectStore, "get", None)
    await store.download("a", tmp_path / "target", size=len(LARGE))
    assert (tmp_path / "target").read_bytes() == LARGE


@pytest.mark.parametrize("content", [b"small", LARGE], ids=["one part", "eleven parts"])
async def test_a_file_with_another_hash_does_not_appear(
    store: ObjectStore, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "source").write_bytes(content)
    with pytest.raises(ObjectStoreError, match="changed while it was sent"):
        await store.put_file("data/a", tmp_path / "source", sha256="0" * 64)
    assert await names(store) == set()


async def test_a_missing_file_is_not_a_missing_object(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(ObjectStoreError, match=r"could not read the file .*nothing: No such file") as caught:
        await store.put_file("data/a", tmp_path / "nothing", sha256="0" * 64)
    assert not isinstance(caught.value, ObjectNotFoundError)


async def test_a_download_with_another_hash_leaves_the_old_file(store: ObjectStore, tmp_path: Path) -> None:
    await store.put_new("a", b"damaged")
    target = tmp_path / "folder" / "target"
    target.parent.mkdir()
    target.write_bytes(b"old")
    with pytest.raises(ObjectStoreError, match="a is damaged: its SHA-256 is"):
        await store.download("a", target, sha256=hashlib.sha256(b"whole").hexdigest())
    assert [path.read_bytes() for path in target.parent.iterdir()] == [b"old"]


def test_a_store_cannot_be_pickled_and_shows_only_an_address(s3_store: ObjectStore) -> None:
    assert repr(s3_store) == f"ObjectStore({s3_store.address!r})"
    with pytest.raises(TypeError, match="is not pickled, as its client holds credentials"):
        pickle.dumps(s3_store)


@pytest.mark.parametrize(
    ("address", "variables", "words"),
    [
        ("az://container/x", {}, "AZURE_STORAGE_ACCOUNT_NAME"),
        ("gs://bucket/x", {"GOOGLE_SERVICE_ACCOUNT_KEY": '{"private_key": "hunter2"}'}, "GOOGLE_APPLICATION"),
    ],
)
def test_missing_or_wrong_credentials_are_named_and_not_shown(
    address: str, variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RequestInvalidError, match="environment variables are missing or wrong") as caught:
        ObjectStore.open(address)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_endpoint_that_is_no_url_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "hunter2")
    with pytest.raises(RequestInvalidError, match="variable AWS_ENDPOINT_URL: expected http://") as caught:
        ObjectStore.open("s3://bucket/x")
    assert "hunter2" not in str(caught.value)


def test_the_process_waits_at_its_end_for_the_threads_of_the_client() -> None:
    code = (
        "import os, threading, time; from chatrest._cloud.address import import_obstore\n"
        "import_obstore()\n"
        "def write(): time.sleep(0.01); os.write(1, b'written')\n"
        "threading.Thread(target=write, daemon=True).start()"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"written"


async def test_conditions_of_a_google_store_compare_the_generation_and_not_the_etag(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its e-tags do not change with the content."""
    store, calls = memory_store("gs://bucket/chat", part_size=PART_SIZE), list[Any]()
    meta = {"e_tag": "same", "version": "7", "size": 3 * PART_SIZE}

    async def put(client: object, name: str, data: bytes, **options: Any) -> Any:
        calls.append(options["mode"])
        return meta

    async def get(client: object, name: str, options: Any) -> Any:
        calls.append(options)
        return SimpleNamespace(meta=meta, bytes_async=AsyncMock(return_value=bytes(PART_SIZE)))

    monkeypatch.setattr("obstore.put_async", put)
    monkeypatch.setattr("obstore.get_async", get)
    assert await store.put_new("a", b"1") == "7"
    assert await store.replace("a", b"2", "6") == "7"
    assert calls == ["create", {"version": "6"}]
    [part, *_] = [each async for each in store._parts("a")]
    assert (part, calls[3]) == (bytes(PART_SIZE), {"version": "7", "range": (0, PART_SIZE)})
