"""A job on a Dask worker: its plugin, and the functions that the cluster runs there.

What a worker's event loop has to import for a job is this file alone, which needs nothing but Dask: the work
itself is imported in the thread of its first task. A task raises nothing: what goes wrong is in its result,
so that no log of the cluster repeats an error of the service.
"""

import asyncio
import logging
import os
from threading import Lock
from typing import TYPE_CHECKING, Any, final

from distributed import Worker, WorkerPlugin, get_worker

if TYPE_CHECKING:
    from .worker import TaskEnd, WorkerJob


@final
class JobPlugin(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    """A job on a worker. Its pickle, which the scheduler keeps, holds no secret."""

    def __init__(self, name: str, version: str, app_id: str, work: bytes) -> None:
        """`work` is the pickle of a `JobWork`, which says what a task does."""
        self.name = name  # the job's own, which no other job has
        self.version, self.app_id, self.work = version, app_id, work
        self.worker: Worker | None = None
        self._job: WorkerJob | None = None
        self._has_ended = False
        self._lock = Lock()

    def __reduce__(self) -> Any:
        return type(self), (self.name, self.version, self.app_id, self.work)

    def setup(self, worker: Worker) -> None:
        self.worker = worker
        logging.getLogger("distributed.worker").addFilter(is_rare_call)

    async def teardown(self, worker: Worker) -> None:
        """End the tasks that run, of which no one takes the results any more, and close the session."""
        self._has_ended = True
        if self._job is not None:
            await asyncio.to_thread(self._job.close)

    def job(self) -> "WorkerJob":
        """Return what the tasks of the job share, made by the first one; called in its thread."""
        from .worker import JobFailure, WorkerJob

        with self._lock:
            if self._has_ended:
                raise JobFailure("ended", self.name)
            if self._job is None:
                assert self.worker is not None
                self._job = WorkerJob(self.worker, self.name, self.version, self.app_id, self.work)
            return self._job

    def receive(self, message: bytes) -> None:
        """Take a message about the rate."""
        if self._job is not None:
            self._job.rate.receive(message)


def run_task(name: str, payload: bytes) -> "TaskEnd":
    """Run a task of a job, in a thread."""
    from .worker import TaskEnd, run_payload

    worker = get_worker()
    plugin = worker.plugins.get(name)
    if not isinstance(plugin, JobPlugin):
        return TaskEnd(failure="ended", reason=name, worker=worker.address)
    return run_payload(plugin.job, payload, worker.address)


# ── run on the workers' event loops, by `client.run` ──


def receive_grants(name: str, messages: dict[str, bytes], dask_worker: Any = None) -> None:
    """Hand this worker's message about the rate to its job."""
    plugin = dask_worker.plugins.get(name)
    if isinstance(plugin, JobPlugin) and dask_worker.address in messages:
        plugin.receive(messages[dask_worker.address])


def missing_variables(names: list[str]) -> list[str]:
    """Return the environment variables that this worker lacks."""
    return [name for name in names if not os.environ.get(name)]


def is_rare_call(record: logging.LogRecord) -> bool:
    """Return False for the lines that Dask logs for a `client.run` that is sent several times a second."""
    return record.args != (receive_grants.__name__,)
