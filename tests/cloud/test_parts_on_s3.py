"""Exports of parts on an S3 server: machines that claim them, and each message once in the bucket."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import structs

from chatrest import AsyncSession
from chatrest._cloud.lease import Lease
from chatrest._cloud.store import ObjectStore
from chatrest.errors import RequestInvalidError
from chatrest.export import Plan, export, read, verify
from chatrest.export.run.run_parts import export_parts
from tests.export.remote.stores import ids_in_bucket
from tests.export_runs import served
from tests.part_service import Town
from tests.simulated_crashes import DyingDisk, Fate, ProcessDeath

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


async def test_a_machine_that_is_lost_loses_its_part_to_the_next_one(
    s3_server: str, bucket: str, s3_environment: Callable[[str], None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    s3_environment(s3_server)
    monkeypatch.setattr("chatrest.export.run.run_parts.PAUSE", 0.05)
    monkeypatch.setitem(Lease.__init__.__kwdefaults__, "seconds", 1.0)  # type: ignore[attr-defined]
    address, dice = f"s3://{bucket}/chat", Random(3)
    async with served(fill_in=lambda _: None) as service:
        town = Town(service.store, dice)
        died = 0
        for _ in range(3):
            town.day(60)
            fate = Fate(tmp_path / "a", dice.randrange(2, 16))
            options: dict[str, Any] = {"parts": COUNT, "claim": True}
            with monkeypatch.context() as patched, suppress(ProcessDeath):
                patched.setattr(Lease, "_write_own", _unreachable)  # nothing is given back
                await export_parts(
                    service.session, address, journal=fate.out, disk=DyingDisk(fate), **options
                )
            died += fate.dead
            if fate.dead:
                fate.rise()
            town.day(20)
            await export(service.session, address, journal=tmp_path / "b", **options)
            ids = await stored_ids(address)
            assert len(ids) == len(set(ids))
        assert died
        for machine in "ab":
            assert (await export(service.session, address, journal=tmp_path / machine)).complete
        ids = await stored_ids(address)
        assert len(ids) == len(set(ids))
        assert town.visible(with_groups=False) <= set(ids)
        assert verify(address).ok


async def _unreachable(self: Lease, *, released: bool = False) -> None:
    """Renew a lease as it is, but give it back never, as the lease of a machine that is lost."""
    if not released:
        await Lease._write(self, structs.replace(self._record, renewal=self._record.renewal + 1))
