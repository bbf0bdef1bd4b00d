"""A job on a Dask worker: its plugin, and the functions that the cluster runs there.

A worker's event loop imports only this file for a job, which needs nothing but Dask: the rest is imported in
threads. A task raises nothing: an error is in its result, so that no log of the cluster repeats an error of
the service.
"""

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from distributed import Worker, WorkerPlugin, get_worker

if TYPE_CHECKING:
    from .._core.requests.endpoint import RateClass
    from .worker import TaskEnd, TaskRate

_LOOK_SECONDS: Final = 0.02  # between two checks that the tasks of a job have ended
_END_SECONDS: Final = 60.0  # after which a worker that closes does not wait for them any more


class JobPlugin(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    """A job on a worker. Its pickle, which the scheduler keeps, holds no secret."""

    def __init__(self, name: str, work: bytes) -> None:
        """`work` is the pickle of a `PartWork`; the name is the job's own, which no other job has."""
        self.name, self.work = name, work
        self.has_ended = False
        self.rates: dict[str, TaskRate] = {}
        """The rate of each task that runs, by the task's name `address#run`. Each run of a part has another
        name, as it numbers its messages from 1."""

    def __reduce__(self) -> Any:
        return type(self), (self.name, self.work)

    def setup(self, worker: Worker) -> None:
        logging.getLogger("distributed.worker").addFilter(is_rare_call)

    async def teardown(self, worker: Worker) -> None:
        """Cancel the running tasks, whose results are not needed any more, and wait a while for their end."""
        self.has_ended = True
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                while self.rates:  # noqa: ASYNC110, they run in threads
                    await asyncio.sleep(_LOOK_SECONDS)


def run_task(name: str, number: int) -> "TaskEnd":
    """Run a part of a job, in a thread; it is cancelled if the scheduler no longer wants its result."""
    from .worker import TaskEnd, run_part_task

    worker = get_worker()
    plugin, key = worker.plugins.get(name), worker.get_current_task()
    if not isinstance(plugin, JobPlugin):
        return TaskEnd("part", f"{worker.address} has no job {name} any more")

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return not plugin.has_ended and task is not None and task.state in ("executing", "long-running")

    return run_part_task(worker, name, plugin.work, number, plugin.rates, is_wanted)


def receive_grants(
    name: str, rate_class: "RateClass", messages: dict[str, bytes], dask_worker: Any = None
) -> None:
    """Hand encoded grants to this worker's tasks of a job, by their names; run in Dask's event loop."""
    plugin = dask_worker.plugins.get(name)
    rates = plugin.rates if isinstance(plugin, JobPlugin) else {}
    for task_name, message in messages.items():
        if (rate := rates.get(task_name)) is not None:
            rate.receive(rate_class, message)


def is_rare_call(record: logging.LogRecord) -> bool:
    """Return False for the lines that Dask logs for a `client.run` that is sent several times a second."""
    return record.args != (receive_grants.__name__,)
