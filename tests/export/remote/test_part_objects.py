"""The common objects of parts in an object store: who holds a part, and what takes no export of parts."""

import time
from collections.abc import Callable

import pytest
from msgspec import structs

from chatrest import RequestInvalidError
from chatrest._cloud.lease import LEASE, LeaseRecord
from chatrest._cloud.publication import MANIFEST
from chatrest.export.remote.part_objects import PartObjects
from tests.cloud.store_double import StoreDouble
from tests.support.buckets import write_over

RECORD = LeaseRecord(owner="a", generation=1, renewal=1, seconds=30.0)


async def test_a_part_is_locked_until_the_lease_expires(
    at: Callable[[StoreDouble], StoreDouble], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, now = at(StoreDouble()), 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    files, name = PartObjects("s3://bucket/chat"), f"part=00/{LEASE}"
    assert not await files.is_held("part=00"), "there is no lease"
    await write_over(store, name, RECORD.encoded())
    assert await files.is_held("part=00")
    now = 1029.0
    assert await files.is_held("part=00")
    await write_over(store, name, structs.replace(RECORD, renewal=2).encoded())
    assert await files.is_held("part=00"), "it was renewed"
    now = 1059.5
    assert not await files.is_held("part=00"), "its time is over since it was seen first"
    await write_over(store, name, structs.replace(RECORD, renewal=3, released=True).encoded())
    assert not await files.is_held("part=00"), "it was given back"


async def test_an_export_that_is_not_of_parts_is_refused(at: Callable[[StoreDouble], StoreDouble]) -> None:
    store = at(StoreDouble())
    await PartObjects("s3://bucket/chat").check_free()
    await write_over(store, MANIFEST, b"{}")
    with pytest.raises(RequestInvalidError, match="holds an export that is not of parts: expected no parts"):
        await PartObjects("s3://bucket/chat").check_free()
