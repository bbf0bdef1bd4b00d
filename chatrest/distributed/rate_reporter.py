"""The reports of a process at a leased rate: several times a second, and at once when something happens."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from .rate_lease import LOST
from .rate_messages import RateLease, RateReport
from .rate_participant import Participant

_CLOSEST: Final = 0.01  # seconds between two reports, also where much happens
_IDLE: Final = 1.0  # seconds between two reports of a process that has sent nothing for as long


@final
class Reporter:
    """A participant of this process, and the task that sends its reports with `send`.

    Made in any thread; `run` is awaited in `loop`, in which `send` is called, too.
    """

    def __init__(
        self,
        name: str,
        send: Callable[[RateReport], object],
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float] = time.monotonic,
        lose: Callable[[], object] = lambda: None,
    ) -> None:
        """`lose` is called when the coordinator has not been heard of for so long that the reports end."""
        self.participant = Participant(name, self._alarm)
        self._send = send
        self._loop = loop
        self._clock = clock
        self._lose = lose
        self._wakeup = asyncio.Event()
        self._heard_at = clock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to report; called in `loop`."""
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """End the reports, after a last one that gives the share back; called in `loop`."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._send(self.participant.report(self._clock(), is_last=True))

    def receive(self, lease: RateLease) -> RateReport:
        """Follow a lease, and return the report that says so."""
        self._heard_at = now = self._clock()
        self.participant.receive(lease, now)
        return self.participant.report(now)

    async def _run(self) -> None:
        busy_at = self._clock()
        while (now := self._clock()) - self._heard_at <= LOST:
            self._wakeup.clear()
            report = self.participant.report(now)
            self._send(report)
            if any(usage.sent or usage.is_waiting for usage in report.usages.values()):
                busy_at = now
            await asyncio.sleep(_CLOSEST)
            with suppress(TimeoutError):
                every = self.participant.report_every
                async with asyncio.timeout(every if now < busy_at + _IDLE else max(every, _IDLE)):
                    await self._wakeup.wait()
        self._lose()

    def _alarm(self) -> None:
        with suppress(RuntimeError):  # the loop of a worker that ends
            self._loop.call_soon_threadsafe(self._wakeup.set)
