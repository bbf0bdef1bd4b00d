"""The coordinator's side of one rate: it deals shares to the tasks of a job, whose reports it hears.

Reports are events of the job's topic: answers, and what requests that wait, or are refused, have to say. The
messages to tasks go by `client.run`: four times a second to those that send requests, and at once to one that
has no share.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, Self

import msgspec
from distributed import Client

from .._core.pace.pacer import DOCUMENTED_RATES, Pace
from .._core.requests.endpoint import RateClass
from .._telemetry import LOGGER
from .part_progress import TaskEvent, decode_event
from .plugin import receive_grants
from .rate_shares import EVERY, RateShares

_SOONEST: Final = 0.02  # seconds between two looks at the rate
_TOGETHER: Final = 16  # tasks that are told by one call: each of their workers gets the messages of all
_encode: Final = msgspec.msgpack.Encoder().encode


class RateCoordinator:
    """One rate for all workers of a job; after the block, none is used.

    After the death of this process workers send until the leases of their shares are over: three seconds, or
    with more than 150 tasks a fiftieth of their number.
    """

    def __init__(
        self, client: Client, app_id: str, pace: Pace | None, job: str,
        parts: Callable[[TaskEvent], object] = lambda _: None,
    ) -> None:  # fmt: skip
        """`parts` gets the events about the numbers of parts."""
        self._client: Any = client
        self._parts = parts
        self._app_id, self._job = app_id, job
        self._pace = pace or Pace()
        self._shares: dict[RateClass, RateShares] = {}
        self._wakeup = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._client.subscribe_topic(self._job, self._hear)
        self._start(self._act())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client.status == "running":  # a cluster that is gone needs no word
            self._client.unsubscribe_topic(self._job)

    def _hear(self, event: tuple[float, bytes]) -> None:
        try:
            known = decode_event(event[1])
        except msgspec.MsgspecError as error:  # of another version of chatrest, or of somebody else
            LOGGER.warning("an event of the export of app %s cannot be read: %s", self._app_id, error)
            return
        if (report := known.rate) is None:
            self._parts(known)
            return
        if (shares := self._shares.get(report.rate_class)) is None:
            shares = RateShares(self._pace, DOCUMENTED_RATES[report.rate_class])
            self._shares[report.rate_class] = shares
        if shares.hear(report, time.monotonic()):
            self._wakeup.set()

    async def _act(self) -> None:
        while True:
            for rate_class, shares in self._shares.items():
                messages = [(name, _encode(each)) for name, each in shares.grants(time.monotonic()).items()]
                for start in range(0, len(messages), _TOGETHER):
                    self._start(self._send(rate_class, dict(messages[start : start + _TOGETHER])))
            await asyncio.sleep(_SOONEST)
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY - _SOONEST):
                    await self._wakeup.wait()
            self._wakeup.clear()

    async def _send(self, rate_class: RateClass, messages: Mapping[str, bytes]) -> None:
        """Send messages; a worker that does not answer delays nothing but this task."""
        workers = list({name.rpartition("#")[0] for name in messages})
        arguments = self._job, rate_class, messages
        try:
            await self._client.run(receive_grants, *arguments, workers=workers, on_error="ignore")
        except OSError as error:  # the scheduler is gone, which ends the job, and so are the leases soon
            LOGGER.debug("the workers do not get the rate of app %s: %s", self._app_id, error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
