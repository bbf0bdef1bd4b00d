"""Leases and publications on an S3 server, over a connection with faults."""

import asyncio
from itertools import count
from pathlib import Path

import pytest

from chatrest._cloud.lease import LEASE, Lease, decode_lease
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import LeaseHeldError, LeaseLostError, ObjectStoreError
from tests.cloud.fault_proxy import FaultProxy
from tests.cloud.publications import lease_of, publish_files, visible

# ── leases ──


async def test_a_lease_on_a_server_is_exclusive_and_is_taken_over_after_its_end(
    s3_store: ObjectStore,
) -> None:
    async with lease_of(s3_store) as old:

        async def renew(_: float) -> None:
            await old.confirm()

        with pytest.raises(LeaseHeldError, match="another writer is at work"):
            await Lease(s3_store, sleep=renew).__aenter__()
        watches = count()

        async def watched(_: float) -> None:
            if next(watches):
                await asyncio.Event().wait()

        async with Lease(s3_store, sleep=watched) as successor:
            assert successor.generation == 2
            with pytest.raises(LeaseLostError, match="has passed to another writer"):
                await old.confirm()
    assert decode_lease((await s3_store.get(LEASE)).data).generation == 2
    assert [info.name async for info in s3_store.list()] == [LEASE]


# ── publications ──


async def test_an_error_of_one_file_ends_the_others(
    proxied_store: ObjectStore, proxy: FaultProxy, tmp_path: Path
) -> None:
    files = {f"x/{number}": f"{number}".encode() for number in range(9)}
    proxy.add("403", lambda request: request.method == "PUT" and "/x/5-" in request.path)
    with pytest.raises(ObjectStoreError, match=r"x/5-00001-.*: the store answered 403"):
        await publish_files(proxied_store, files, tmp_path)
    assert await visible(proxied_store, tmp_path) == {}
    await publish_files(proxied_store, files, tmp_path)
    assert await visible(proxied_store, tmp_path) == files
