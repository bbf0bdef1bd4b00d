"""The connection to a cluster, and its workers."""

import asyncio
import itertools
import logging
import signal
from typing import Any

import pytest
from distributed.client import AllExit

from chatrest.distributed.cluster import ClusterError, connect, silenced, workers_of
from chatrest.export import Phase, Progress
from tests.distributed.clusters import WAIT_SECONDS


async def test_a_cluster_without_workers_is_an_error_after_a_minute() -> None:
    class Scheduler:
        address = "tcp://10.0.0.1:8786"

        async def identity(self) -> dict[str, Any]:
            return {"workers": {}}

    class Empty:
        status = "running"
        scheduler = Scheduler()

    client: Any = Empty()
    ticks = itertools.count(0, 30)
    phases: list[tuple[Phase, str]] = []

    class Noted(Progress):
        def enter(self, phase: Phase, detail: str = "") -> None:
            phases.append((phase, detail))
            super().enter(phase, detail)

    with pytest.raises(
        ClusterError, match=r" no workers: start some with `dask worker tcp://10\.0\.0\.1:8786`"
    ):
        await workers_of(client, Noted(), lambda: next(ticks))
    assert (Phase.WAITING_FOR_WORKER, "tcp://10.0.0.1:8786") in phases


def test_only_the_exception_by_which_dask_leaves_a_wait_is_not_printed() -> None:
    loop, printed, logger = asyncio.new_event_loop(), list[Any](), logging.getLogger("distributed.client")
    handler, level = lambda _, context: printed.append(context["exception"]), logger.level
    loop.set_exception_handler(handler)
    error = ValueError("a fault of the program")
    with silenced(loop):
        for exception in (AllExit(), error):
            loop.call_exception_handler({"message": "", "exception": exception})
        assert logger.level == logging.CRITICAL
    assert printed == [error]
    assert (loop.get_exception_handler(), logger.level) == (handler, level)
    loop.close()


async def test_processes_of_this_machine_leave_ctrl_c_to_the_command() -> None:
    async with asyncio.timeout(WAIT_SECONDS), connect("local:1") as client:
        handlers = await client.run(signal.getsignal, signal.SIGINT)
    assert list(handlers.values()) == [signal.SIG_IGN]
