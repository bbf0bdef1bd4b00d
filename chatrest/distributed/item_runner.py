"""Fan-out on a cluster: a function for each of many items, with outcomes as they arrive, at one rate.

An item is sent to one process: only the coordinator decides whether it is run again.

| what happens                    | what becomes of an item that was sent there                              |
|---------------------------------|--------------------------------------------------------------------------|
| its function raises             | its outcome is the error                                                 |
| its worker dies                 | with a journal it is run once more, on another worker, as after a crash; |
|                                 | three times at most. Without one its outcome is `OutcomeUnknownError`    |
| the worker has no credentials,  | no outcome: the fan-out ends with `ClusterError`                         |
| or the scheduler goes away      |                                                                          |
"""

import asyncio
import os
import pickle
import time
from collections import Counter
from collections.abc import AsyncIterable, Awaitable, Callable, Hashable, Iterable
from contextlib import AsyncExitStack, suppress
from itertools import count
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, final

from distributed.protocol.pickle import dumps

from ..core.pace.pacer import Pace
from ..core.requests.arguments import check_unquoted, hides_arguments, instance
from ..core.requests.hosts import App
from ..errors import OutcomeUnknownError, RequestInvalidError
from ..fan_out.outcome_journal import job_of
from ..fan_out.stream import FanOut, FanOutCounts, ProgressListener, fan_out as run_here
from ..fan_out.worker_tasks import Outcome
from ..session import AsyncSession
from .attempt_place import JOB_PREFIX
from .coordinator import ClusterError, ShardLostError
from .job import ClusterJob, check_client
from .plugin import token_of
from .worker import ItemWork

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")

_REFRESH_SECONDS: Final = 2.0  # the age that the list of workers may have
_LIST_SECONDS: Final = 5.0  # in which all workers have to answer for a new list
_LOOK_SECONDS: Final = 0.25
_MOST_RUNS: Final = 4  # of an item whose workers die


class ClusterFailure(BaseException):
    """The cluster is gone, as its cause says: no item of it has an outcome any more."""


@final
class ItemRunner:
    """A fan-out's function on a cluster, each item in the process that has the fewest."""

    def __init__(self, client: "Client", job: ClusterJob, *, rerun: bool) -> None:
        self._client: Any = client
        self._job, self._rerun = job, rerun
        self._running = Counter[str]()
        self._tokens: dict[str, str] = {}
        self._listed_at = float("-inf")
        self._lock = asyncio.Lock()
        self._numbers = count(1)

    async def run(self, item: Any) -> Any:
        try:
            end, content = pickle.loads(await self._run(dumps(item)))  # noqa: S301, Dask unpickles all it gets
        except ClusterError as error:
            raise ClusterFailure from error
        if end == "error":
            raise content
        return content

    async def _run(self, item: bytes) -> bytes:
        for _ in range(_MOST_RUNS if self._rerun else 1):
            address = await self._choose()
            self._running[address] += 1
            task = asyncio.create_task(
                self._job.submit(item, f"item-{next(self._numbers)}", place=(address, self._tokens[address]))
            )
            try:
                while not (await asyncio.wait({task}, timeout=_REFRESH_SECONDS))[0]:
                    if address not in await self._workers():
                        break  # a task that wants a worker that was lost may wait for ever
                else:
                    return await task
            except ShardLostError:
                self._listed_at = float("-inf")
            finally:
                self._running[address] -= 1
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        raise OutcomeUnknownError("the Dask worker that ran the item has died; it may have been run in part")

    async def _choose(self) -> str:
        while not (tokens := await self._workers()):
            await self._job.slots()  # raises where there is none for a minute
            await asyncio.sleep(_LOOK_SECONDS)
            self._listed_at = float("-inf")
        return min(tokens, key=self._running.__getitem__)

    async def _workers(self) -> dict[str, str]:
        """Return the tokens of the workers' processes by address."""
        async with self._lock:
            if time.monotonic() > self._listed_at + _REFRESH_SECONDS:
                with suppress(TimeoutError):  # a worker that stands still answers nothing: the list stays
                    async with asyncio.timeout(_LIST_SECONDS):
                        listed = self._job.call(self._client.run(token_of, self._job.name, on_error="ignore"))
                        self._tokens = {address: token for address, token in (await listed).items() if token}
                self._listed_at = time.monotonic()
            return self._tokens


@final
class ClusterFanOut(Generic[T, R]):
    """The outcomes of a worker function for each of many items, run on a cluster.

    Used with `async with`, whose block reads it with `async for`; one task reads at a time.
    """

    def __init__(self, outcomes: FanOut[T, R], job: ClusterJob) -> None:
        self._outcomes, self._job, self._stack = outcomes, job, AsyncExitStack()

    def __repr__(self) -> str:
        return f"<ClusterFanOut: {self._outcomes!r}>"

    @property
    def counts(self) -> FanOutCounts:
        """The numbers of items so far."""
        return self._outcomes.counts

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._job)
            await stack.enter_async_context(self._outcomes)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Outcome[T, R]:
        try:
            return await anext(self._outcomes)
        except ClusterFailure as end:
            failure = end.__cause__ or end
        raise failure


@hides_arguments
def fan_out(
    client: "Client",
    app: App,
    items: Iterable[T] | AsyncIterable[T],
    worker: Callable[[AsyncSession, T], Awaitable[R]],
    *,
    concurrency: int = 100,
    ordered: bool = False,
    stop_after: int | None = None,
    progress: ProgressListener | None = None,
    group: Callable[[T], Hashable] | None = None,
    journal: str | PathLike[str] | None = None,
    key: Callable[[T], Any] | None = None,
    job: str | None = None,
    retry_failed: bool = False,
    pace: Pace | None = None,
) -> ClusterFanOut[T, R]:
    """Run `await worker(session, item)` for each item on the workers of a Dask cluster, at one rate.

        async with fan_out(client, app, uids, count_unread, journal="unread.journal") as outcomes:
            async for outcome in outcomes:
                print(outcome.item, outcome.value if outcome.ok else outcome.error)

    - `client`: a `distributed.Client` with `asynchronous=True`.
    - `worker`: gets a session of the process that it runs in, and an item. Dask pickles it, the items and the
      results, so they must not hold a session or a key.
    - `concurrency`: items at once in the whole cluster; with `group`, of each group.
    - `pace`: that of the whole cluster (None learns the limit).
    - All else as for `session.fan_out`, of whose journals this one goes on with and the other way round: with
      `session.fan_out(items, partial(worker, session), journal=…)` the job has the same name.

    An item whose Dask worker dies is run again if there is a journal, as it would be after a crash of
    `session.fan_out`. Without a journal it is not, and its outcome is an `OutcomeUnknownError`.

    The workers take the app's credentials from their own environment (`CHATREST_APP_ID` and so on,
    `CHATREST_HEADERS` too); nothing of `app` but its id is sent. Leaving the block cancels the items that
    run, and waits for their end. Raises `RequestInvalidError` for a wrong argument and a wrong journal,
    and while it is read `ClusterError` where the cluster is gone: run it again with the same journal.
    """
    client = check_client(client)
    if not isinstance(app, App):
        raise RequestInvalidError(f"app: allowed is an App, and not a {type(app).__name__}")
    check_unquoted(callable(worker), "worker", worker, "a function of a session and an item")
    session = AsyncSession(app)  # for its clock, and its checks; it sends nothing
    name, given = f"{JOB_PREFIX}{os.urandom(8).hex()}", instance("pace", pace, Pace)
    cluster_job = ClusterJob(client, app.app_id, name, ItemWork(worker), given)
    runner = ItemRunner(client, cluster_job, rerun=journal is not None)
    outcomes: FanOut[T, R] = run_here(
        session, items, runner.run, concurrency=concurrency, ordered=ordered, stop_after=stop_after,
        progress=progress, group=group, journal=journal, key=key, job=job or job_of(worker),
        retry_failed=retry_failed,
    )  # fmt: skip
    return ClusterFanOut(outcomes, cluster_job)
