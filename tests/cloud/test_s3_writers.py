"""Leases and publications on an S3 server, over a connection with faults."""

import asyncio
from itertools import count
from pathlib import Path

import pytest

from chatrest._cloud.lease import LEASE, Lease, decode_lease
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import LeaseHeldError, LeaseLostError, ObjectStoreError
from chatrest.errors import RequestInvalidError
from tests.cloud.fault_proxy import FaultProxy, ProxiedRequest
from tests.cloud.publishing import lease_of, publish_files, visible

ALWAYS = 1000


def is_conditional_write(request: ProxiedRequest) -> bool:
    return request.method == "PUT" and request.conditional


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


@pytest.mark.parametrize("kind", ["500", "500 applied", "lost"])
async def test_a_lease_survives_passing_faults(
    proxied_store: ObjectStore, proxy: FaultProxy, kind: str
) -> None:
    for number in (1, 2):  # the first creates the object, the second replaces it
        proxy.add(kind, lambda request: is_conditional_write(request) and request.path.endswith(LEASE))
        async with lease_of(proxied_store) as lease:
            proxy.add(kind, is_conditional_write)
            await lease.confirm()
            assert lease.generation == number


@pytest.mark.parametrize(
    ("refuses", "words"),
    [(True, "refuses conditional writes"), (False, "ignores the conditions of writes")],
)
async def test_a_server_without_conditional_writes_is_refused(
    proxied_store: ObjectStore, proxy: FaultProxy, refuses: bool, words: str
) -> None:
    if refuses:
        proxy.add("501", is_conditional_write, ALWAYS)
    else:
        proxy.ignores_conditions = True
    with pytest.raises(RequestInvalidError, match=rf"{words}, so that two writers .* \(If-Match and"):
        await lease_of(proxied_store).__aenter__()
    assert [info.name async for info in proxied_store.list()] == []


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
