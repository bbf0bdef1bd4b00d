"""Exports of parts on an S3 server: machines that claim them, and each message once in the bucket."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from chatrest import AsyncSession
from chatrest._cloud.store import ObjectStore
from chatrest.errors import RequestInvalidError
from chatrest.export import Plan, export, read, verify
from tests.export.remote.bucket import ids_in_bucket
from tests.exporting import served
from tests.parting import Town

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("fast_ramp")]

COUNT = 3


async def stored_ids(address: str) -> list[int]:
    """Return the ids of all records in the bucket, with duplicates."""
    ids = list[int]()
    for number in range(COUNT):
        ids += map(int, await ids_in_bucket(ObjectStore.open(f"{address}/part={number:02}")))
    return sorted(ids)


async def test_machines_claim_the_parts_of_a_bucket(
    s3_server: str, bucket: str, s3_environment: Callable[[str], None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    s3_environment(s3_server)
    monkeypatch.setattr("chatrest.export.run.run_parts.PAUSE", 0.0)
    address, dice = f"s3://{bucket}/chat", Random(7)
    async with served(fill_in=lambda _: None) as service:
        town = Town(service.store, dice)
        for night in range(2):
            town.day(120)

            async def claim(machine: str) -> None:
                dice = {"a": 0.1, "b": 0.5}[machine[-1]]  # each begins with another part
                async with AsyncSession(service.emulator.app, dice=lambda: dice) as session:
                    await export(session, address, parts=COUNT, claim=True, journal=tmp_path / machine)

            await asyncio.gather(*(claim(f"{night}-{machine}") for machine in "ab"))
            ids = await stored_ids(address)
            assert len(ids) == len(set(ids))
            assert town.visible(with_groups=False) <= set(ids)
        assert all(verify(f"{address}/part={number:02}").ok for number in range(COUNT))
        assert Counter(int(message.id) for message in read(address)) == Counter(ids)
        for options in ({"parts": 4}, {"plan": Plan(users=["u1"])}, {"part": 3}):
            with pytest.raises(RequestInvalidError):
                await export(service.session, address, **options)
        await export(service.session, f"s3://{bucket}/one", journal=tmp_path / "one")
        with pytest.raises(RequestInvalidError, match="not of parts"):
            await export(service.session, f"s3://{bucket}/one", parts=2, journal=tmp_path / "two")
