"""Clusters for tests, and parts that are run without a service: the workers import them from here."""

import asyncio
import errno
import inspect
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster, get_worker

from chatrest import AsyncSession, Pace
from chatrest._storage import InUseError
from chatrest.distributed.cluster import connect
from chatrest.distributed.job import ClusterJob
from chatrest.distributed.worker import PartWork, installed_version
from chatrest.export import Plan, Progress, Report
from chatrest.export.plan.parts import NAME, Night, Parts

FAST = Pace(rate=60_000)
NIGHTS = (Night(0, "news/0000"),)
OPTIONS: dict[str, Any] = {
    "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0,
    "silence_logs": logging.CRITICAL,
}  # fmt: skip
IN_THIS_PROCESS: dict[str, Any] = {
    "n_workers": 1, "processes": False, "asynchronous": True, "protocol": "tcp",
}  # fmt: skip
WAIT_SECONDS = 60.0
CLUSTER_SECONDS = 240.0
"""For all that a test does with a cluster; the slowest one needs some seconds on an idle machine."""


async def until(condition: Callable[[], object]) -> None:
    """Wait for other threads or processes, but not for ever; name what did not come."""
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            source = "".join(inspect.getsource(condition).split("\n"))
            raise AssertionError(f"not true after {WAIT_SECONDS:.0f} s: {source.strip()}; parts: {runs}")
        await asyncio.sleep(0.01)


@asynccontextmanager
async def near_cluster(**options: Any) -> AsyncIterator[tuple[LocalCluster, Client]]:
    """Give a cluster of this machine; a test that hangs fails with the states of its tasks."""
    states: dict[str, str] = {}
    try:
        async with asyncio.timeout(CLUSTER_SECONDS):
            async with (
                LocalCluster(**(OPTIONS | IN_THIS_PROCESS | options)) as cluster,
                connect(cluster.scheduler_address) as client,
            ):
                try:
                    yield cluster, client
                finally:
                    states |= {str(task.key): task.state for task in cluster.scheduler.tasks.values()}
    except TimeoutError as error:
        raise AssertionError(f"not done after {CLUSTER_SECONDS:.0f} s; tasks: {states}, {runs}") from error


def leave_parts(out: Path, app_id: str = "app") -> None:
    out.mkdir(exist_ok=True)
    (out / NAME).write_bytes(Parts(parts=4, app_id=app_id, plan=Plan(), nights=NIGHTS).encoded())


def job_of(client: Client, out: Path, run: Any, name: str = "chatrest-1", **options: Any) -> ClusterJob:
    """A job whose parts are run by a function of this file, for the app `app`."""
    url = os.environ.get("CHATREST_BASE_URL", "")
    work = PartWork(str(out), NIGHTS, "app", url, installed_version(), run, options)
    return ClusterJob(client, name, work, FAST)


runs: Counter[str] = Counter()
"""The results of parts in this process."""


async def ends(session: AsyncSession, out: str, number: int, *, progress: Progress, **_: Any) -> Report:
    progress.written = number
    return Report(complete=True, written=number)


async def hangs(session: AsyncSession, out: str, number: int, **_: Any) -> Report:
    runs["hanging"] += 1
    try:
        await asyncio.Event().wait()
    finally:
        runs["hanging"] -= 1
        runs["cancelled"] += 1
    raise AssertionError


async def asks(session: AsyncSession, out: str, number: int, **options: Any) -> Report:
    for _ in range(2):
        await session.request("GET", "/users")
    return Report(complete=True)


async def needs_room(session: AsyncSession, out: str, number: int, *, full: list[int], **_: Any) -> Report:
    """A part that finds the disk full on the workers of these names."""
    if (name := get_worker().name) in full:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"{out}/journal.sqlite")
    return Report(complete=True, messages=name)


async def is_held(session: AsyncSession, out: str, number: int, **_: Any) -> Report:
    raise InUseError(f"{out} is being written by another process")


async def fails(session: AsyncSession, out: str, number: int, **_: Any) -> Report:
    raise ZeroDivisionError("a fault of the program")
