"""A fan-out on a cluster: its outcomes, its journal, and workers that die."""

import asyncio
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chatrest import App, AsyncSession, NotFoundError, OutcomeUnknownError, Pace
from chatrest.emulator import Emulator

distributed = pytest.importorskip("distributed")

from chatrest.distributed import fan_out  # noqa: E402, it needs distributed


def cluster_of(count: int, *, processes: bool = False) -> Any:
    """Return a cluster of workers with one thread each."""
    return distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, processes=processes, asynchronous=True,
        dashboard_address=None, memory_limit=0, silence_logs=50,
    )  # fmt: skip


async def read_user(session: AsyncSession, uid: str) -> tuple[str, int]:
    """Return the uid of a user, and the process that has read it."""
    user = await session.users.get(uid)
    return user.uid, os.getpid()


async def test_a_x() -> None:
    uids = [f"user-{number:02}" for number in range(1, 41)] + ["nobody"]
    async with (
        Emulator(users=40, messages=0) as emulator,
        cluster_of(2) as cluster,
        distributed.Client(cluster, asynchronous=True) as client,
        fan_out(client, emulator.app, uids, read_user, pace=Pace(rate=300, window=1)) as outcomes,
    ):
        t = time.monotonic()
        got = [outcome async for outcome in outcomes]
        print(time.monotonic() - t)
        assert sorted(o.item for o in got) == sorted(uids)
        assert all(o.ok for o in got if o.item != "nobody")
        assert isinstance(next(o for o in got if o.item == "nobody").error, NotFoundError)
        assert 0
