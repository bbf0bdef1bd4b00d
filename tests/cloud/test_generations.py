"""A `gs://` store, whose conditional writes compare generations."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import ObjectChangedError, ObjectExistsError, ObjectStoreError
from tests.cloud.generation_server import GenerationServer
from tests.cloud.s3_settings import LIMITS, PART_SIZE


@pytest.fixture
async def store(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ObjectStore]:
    async with GenerationServer() as server:
        monkeypatch.setenv("GOOGLE_BASE_URL", server.url)
        account = {"gcs_base_url": server.url, "disable_oauth": True}
        account |= dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(account))
        yield ObjectStore.open("gs://bucket/prefix", limits=LIMITS, part_size=PART_SIZE)


async def test_conditions_compare_the_generation_and_not_the_etag(store: ObjectStore) -> None:
    first = await store.put_new("a", b"1")
    with pytest.raises(ObjectExistsError):
        await store.put_new("a", b"2")
    assert first is not None
    second = await store.replace("a", b"2", first)
    with pytest.raises(ObjectChangedError):
        await store.replace("a", b"3", first)
    assert (first, second) == ("1", "2")
    assert (await store.head("a")).etag == "2"


async def test_a_file_whose_generation_changes_while_it_is_read_is_refused(
    store: ObjectStore, tmp_path: Path
) -> None:
    await store.put("a", bytes(3 * PART_SIZE))
    parts = store._parts(await store.head("a"))
    assert await anext(parts) == bytes(PART_SIZE)
    await store.put("a", bytes(3 * PART_SIZE))
    with pytest.raises(ObjectStoreError):
        await anext(parts)
