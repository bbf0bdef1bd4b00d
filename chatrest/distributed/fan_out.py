"""Fan-out on a cluster: a function for each of many items, with outcomes as they come, at one rate."""

from collections.abc import AsyncIterable, Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import AsyncExitStack
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, final

from ..core.pace.pacer import Pace
from ..core.requests.arguments import check_unquoted, hides_arguments, instance
from ..core.requests.hosts import App
from ..fan_out.outcome_journal import job_of
from ..fan_out.stream import FanOut, FanOutCounts, ProgressListener, fan_out as run_here
from ..fan_out.worker_tasks import Outcome
from ..session import AsyncSession
from .cluster import check_client
from .credentials import Credentials
from .fan_out_runner import ClusterFailure, ItemRunner
from .fan_out_worker import check_app
from .rate_coordinator import RateCoordinator

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")


@final
class ClusterFanOut(Generic[T, R]):
    """The outcomes of a worker function for each of many items, run on a cluster.

    Used with `async with`, whose block reads it with `async for`; one task reads at a time.
    """

    def __init__(self, outcomes: FanOut[T, R], runner: ItemRunner, coordinator: RateCoordinator) -> None:
        self._outcomes = outcomes
        self._runner = runner
        self._coordinator = coordinator
        self._stack = AsyncExitStack()

    def __repr__(self) -> str:
        return f"<ClusterFanOut: {self._outcomes!r}>"

    @property
    def counts(self) -> FanOutCounts:
        """The numbers of items so far."""
        return self._outcomes.counts

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._coordinator)
            await stack.enter_async_context(self._runner)
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
            failure = end.error
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
    headers: Mapping[str, str] | None = None,
) -> ClusterFanOut[T, R]:
    """Run `await worker(session, item)` for each item on the workers of a Dask cluster, at one rate.

        async with fan_out(client, app, uids, count_unread, journal="unread.journal") as outcomes:
            async for outcome in outcomes:
                print(outcome.item, outcome.value if outcome.ok else outcome.error)

    - `client`: a `distributed.Client` with `asynchronous=True`.
    - `worker`: gets a session of the process that it runs in, and an item. Dask pickles it, the items and the
      results, so they must not hold a session or a key.
    - `concurrency`: items at once in the whole cluster; with `group`, of each group.
    - `pace`: that of the whole cluster (None learns the limit); `headers`: as those of a session.
    - All else as for `session.fan_out`, of whose journals this one goes on with and the other way round: with
      `session.fan_out(items, partial(worker, session), journal=…)` the job has the same name.

    An item whose Dask worker dies is run once more if there is a journal, as it would be after a crash of
    `session.fan_out`. Without a journal it is not, and its outcome is an `OutcomeUnknownError`.

    The workers take the app's credentials from their own environment; where they have none, they are sent
    once, if the connection is encrypted or does not leave this machine. Leaving the block cancels the items
    that run, and waits for their end. Raises `RequestInvalidError` for a wrong argument and a wrong journal,
    and while it is read `ClusterError` where the cluster is gone: run it again with the same journal.
    """
    client, app = check_client(client), check_app(app)
    check_unquoted(callable(worker), "worker", worker, "a function of a session and an item")
    session = AsyncSession(app, headers=headers)  # for its clock, and its checks; it sends nothing
    credentials = Credentials(app, dict(headers or {}))
    runner = ItemRunner(client, credentials, worker, rerun=journal is not None)
    outcomes: FanOut[T, R] = run_here(
        session, items, runner.run, concurrency=concurrency, ordered=ordered, stop_after=stop_after,
        progress=progress, group=group, journal=journal, key=key, job=job or job_of(worker),
        retry_failed=retry_failed,
    )  # fmt: skip
    coordinator = RateCoordinator(client, app.app_id, instance("pace", pace, Pace), runner.name)
    return ClusterFanOut(outcomes, runner, coordinator)
