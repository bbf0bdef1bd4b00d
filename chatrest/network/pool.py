"""The pool of a region: its connections, its places, and its circuit breakers.

Regions share nothing: a slow region fills only its own pool, and a region that is down opens only its own
breakers, one per host. Only this module limits concurrency.
"""

from collections.abc import Callable
from typing import final

from ..core.breaker import Breaker, RetryBudget
from ..core.endpoint import RateClass
from ..core.pacer import DOCUMENTED_RATES, Pace, Pacer
from ..core.timeouts import Timeouts
from ..core.wire import Request
from ..errors import ConnectError, ReplyUnreadableError, RequestInvalidError, TransportError
from .lanes import Priority, PrioritySemaphore, RateGate
from .timing import Timing
from .transport import Reply, Transport


@final
class Pool:
    """The connections and places for calls to one region."""

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
        """The number of attempted exchanges, with and without a connection."""
        self._breakers: dict[str, Breaker] = {}
        self.budget = RetryBudget()
        self.places = PrioritySemaphore(concurrency)
        self.has_replied = False
        """True once any reply has come; before that, the region may not exist."""
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
        """The number of calls that hold a place."""
        return self.places.active

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a place or for a slot of a rate limit."""
        return self.places.waiting + sum(gate.waiting - gate.seeking for gate in self._gates.values())

    def gate(self, app_id: str, rate_class: RateClass) -> RateGate:
        """Return the rate gate of an app's rate class, which all tasks and views of the session share."""
        key = (app_id, rate_class)
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = RateGate(
                Pacer(self._pace, DOCUMENTED_RATES[rate_class]), self._timing, self.places
            )
        return gate

    def release(self, lane: Priority) -> None:
        """Free the place of a call."""
        self.places.release(lane)

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        """Send `request` once, with a place; raise `ConnectError` at once while the region is down."""
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
        """Close all connections; later exchanges raise `RequestInvalidError`."""
        self._closed = True
        if self._transport is not None:
            await self._transport.close()

    def _breaker(self, request: Request) -> Breaker:
        """Return the breaker of the request's host, as a wrong app id must not affect other apps."""
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
