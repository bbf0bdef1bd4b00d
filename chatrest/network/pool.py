"""One pool a region: its connections, its places, and its circuit breakers.

Regions share nothing: one that hangs fills its own pool and no other, one that is down opens its own
breakers, host by host. This is the one place that limits concurrency.
"""

from collections.abc import Callable
from typing import final

from ..core.breaker import Breaker, RetryBudget
from ..core.pacer import Pace, Pacer
from ..core.timeouts import Timeouts
from ..core.wire import Request
from ..errors import ConnectError, ReplyUnreadableError, RequestInvalidError, TransportError
from .lanes import Priority, PrioritySemaphore, RateGate
from .timing import Timing
from .transport import Reply, Transport


@final
class Pool:
    """The connections to one region."""

    def __init__(
        self,
        region: str,
        concurrency: int,
        timing: Timing,
        connect: Callable[[], Transport],
        pace: Pace = Pace(),  # noqa: B008, a frozen value
    ) -> None:
        self.region = region
        self.concurrency = concurrency
        self.sent = 0
        """Requests handed to the network since the pool was made, with a connection or without."""
        self._breakers: dict[str, Breaker] = {}
        self.budget = RetryBudget()
        self.places = PrioritySemaphore(concurrency)
        self.has_replied = False
        """True once any reply came: until then, the region may not exist."""
        self._gates: dict[tuple[str, str], RateGate] = {}
        self._pace = pace
        self._timing = timing
        self._connect = connect
        self._transport: Transport | None = None
        self._closed = False

    def __repr__(self) -> str:
        failures = max((each.failures for each in self._breakers.values() if each.is_open), default=0)
        down = f", down after {failures} failures in a row" if failures else ""
        return (
            f"<Pool {self.region}: {self.active} of {self.concurrency} places in use, "
            f"{self.waiting} waiting, {self.sent} sent{down}>"
        )

    @property
    def active(self) -> int:
        """Calls that hold a place now."""
        return self.places.active

    @property
    def waiting(self) -> int:
        """Calls that wait: for a place, or for their slot of a rate limit."""
        return self.places.waiting + sum(gate.waiting - gate.seeking for gate in self._gates.values())

    def gate(self, app_id: str, rate_class: str) -> RateGate:
        """The rate gate of an app's rate class: one for all tasks and views of the session."""
        key = (app_id, rate_class)
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = RateGate(Pacer(self._pace), self._timing, self.places)
        return gate

    def release(self, lane: Priority) -> None:
        """Give a call's place back."""
        self.places.release(lane)

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        """Send `request` once, with a place in hand; `ConnectError` at once while the region is down."""
        if self._closed:
            raise RequestInvalidError("the session was closed before the request was sent")
        breaker = self._breaker(request)
        probe = breaker.is_open
        rest = breaker.wait(self._timing.now())
        if rest > 0:
            raise self._is_down(breaker, rest)
        if self._transport is None:
            self._transport = self._connect()
        self.sent += 1
        try:
            reply = await self._transport.exchange(request, timeouts)
        except ReplyUnreadableError:
            breaker.record_reply()
            raise
        except TransportError:
            breaker.record_failure(self._timing.now(), probe=probe)
            raise
        self.has_replied = True
        breaker.record_reply()
        return reply

    async def close(self) -> None:
        """Close the connections, for good."""
        self._closed = True
        if self._transport is not None:
            await self._transport.close()

    def _breaker(self, request: Request) -> Breaker:
        """The breaker of the request's host: an app id that does not exist says nothing about the others."""
        breaker = self._breakers.get(request.host)
        if breaker is None:
            breaker = self._breakers[request.host] = Breaker()
        return breaker

    def _is_down(self, breaker: Breaker, rest: float) -> ConnectError:
        error = ConnectError(
            f"region {self.region} is down: {breaker.failures} exchanges in a row brought no reply; "
            f"nothing was sent, the next probe goes in {rest:.1f} s"
        )
        error.retry_after = rest
        return error
