"""Exports on an S3 server, over a bad connection, and read there by other programs."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest._cloud.store import ObjectStore
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, read, verify
from tests.cloud.fault_proxy import FaultProxy, ProxiedRequest
from tests.cloud.s3_settings import KEY_ID, LIMITS, SECRET

pytestmark = pytest.mark.nightly


async def test_other_programs_read_the_dataset_as_it_is(
    s3_server: str, bucket: str, s3_environment: Callable[[str], None], tmp_path: Path
) -> None:
    from pyarrow import dataset, fs  # take long to load

    s3_environment(s3_server)
    address = f"s3://{bucket}/chat"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, address, Plan(format="parquet"), journal=tmp_path / "a")
        emulator.store.add_message("user-001", "user-002", "new")
        assert (await export(session, address, journal=tmp_path / "b")).written == 1
    names = [info.name async for info in ObjectStore.open(address).list("messages")]
    pattern = r"messages/month=\d{4}-\d\d/messages-\d{5}-[0-9a-f]{8}\.parquet"
    assert all(re.fullmatch(pattern, name) for name in names)
    assert verify(address).ok
    files = fs.S3FileSystem(
        endpoint_override=s3_server, access_key=KEY_ID, secret_key=SECRET, region="us-east-1"
    )
    table = dataset.dataset(
        f"{bucket}/chat/messages", filesystem=files, format="parquet", partitioning="hive"
    )
    assert {"id", "raw", "month"} <= {*table.schema.names}
    ids = table.to_table(columns=["id"]).column("id").to_pylist()
    assert sorted(map(str, ids)) == sorted(message.id for message in read(address))
    assert len(ids) == 41


async def test_an_export_over_a_bad_connection_is_whole(
    proxy: FaultProxy,
    bucket: str,
    s3_environment: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    s3_environment(proxy.url)
    monkeypatch.setattr("chatrest._cloud.store.RequestLimits", lambda: LIMITS)
    failed: set[tuple[str, str]] = set()

    def first_of_each(request: ProxiedRequest) -> bool:
        """Fail the first request of each kind to each object, and none of its repetitions."""
        key = request.method, request.path
        is_chosen = key not in failed and len(failed) % 3 == 0
        failed.add(key)
        return is_chosen

    for kind in ("500", "lost", "500 applied", "cut"):
        proxy.add(kind, first_of_each, 8)
    address = f"s3://{bucket}/chat"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        for root, number in [("a", 40), ("b", 41)]:
            report = await export(session, address, Plan(format="ndjson"), journal=tmp_path / root)
            assert (report.complete, report.messages) == (True, number)
            emulator.store.add_message("user-001", "user-002", "new")
    proxy.clear()
    assert (await asyncio.to_thread(verify, address)).ok
    assert len(await asyncio.to_thread(lambda: list(read(address)))) == 41
