"""A cluster without Dask for tests: workers in this process that die, are late, or run a shard twice."""

import asyncio
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from chatrest import AsyncSession
from chatrest.distributed.attempt_place import AttemptFolder, AttemptPlace
from chatrest.distributed.coordinator import ShardLostError
from chatrest.distributed.shard import OpenJob, Shard, ShardResult, decode_result, decode_shard, encode
from chatrest.distributed.shard_reader import read_shard


class HomeCluster:
    """Workers of this process; `trouble` is the share of shards to which something happens."""

    def __init__(
        self, session: AsyncSession, out: Path, *, trouble: float = 0.0, seed: int = 0, slots: int = 2,
        place: AttemptPlace | None = None,
    ) -> None:  # fmt: skip
        self.session, self.out, self.count = session, out, slots
        self.place: AttemptPlace = place or AttemptFolder(out)
        self.dice, self.trouble = Random(seed), trouble
        self.waits_for_rate = True
        self.shards: list[Shard] = []
        self.results: list[ShardResult] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    async def slots(self) -> int:
        return self.count

    async def run(self, shard: Shard, operation: str) -> ShardResult:
        assert operation.startswith("messages.list")
        self.shards.append(shard)
        if self.dice.random() >= self.trouble:
            return await self.read(shard)
        match self.dice.randrange(3):
            case 0:
                raise ShardLostError("it died before it did anything")
            case 1:
                await self.read(shard)
                raise ShardLostError("it died when it had written its files")
            case _:
                await self.read(shard)  # the scheduler thought it dead
                return await self.read(shard)

    async def read(self, shard: Shard) -> ShardResult:
        job = await asyncio.to_thread(self.open_job, shard.job)
        result = await read_shard(
            decode_shard(encode(shard)), job, self.session, self.place,
            waits_for_rate=lambda: self.waits_for_rate,
        )  # fmt: skip
        self.results.append(result)
        return decode_result(encode(result))

    def open_job(self, name: str) -> OpenJob:
        with self.place.job_file(name) as path:
            return OpenJob(path)
