"""The pool of a region: its connections, its places, its rate limits and its circuit breakers.

Regions share nothing: a slow region fills only its own pool, and a region that is down opens only its own
breakers, one per host. Inside a region no app keeps the places from another one: see `places.py`. Only this
module limits concurrency.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias, final

from ..core.pace.breaker import Breaker, Breakers, HostState, RetryBudget
from ..core.pace.pacer import DOCUMENTED_RATES, GatePacer, Pace, Pacer
from ..core.requests.endpoint import RateClass
from ..core.requests.timeouts import Timeouts
from ..core.requests.wire import Request
from ..errors import ConnectError, ReplyUnreadableError, RequestInvalidError, TransportError
from .places import PrioritySemaphore
from .pool_state import PoolState
from .rate_gate import RateGate
from .rate_gates import GateKey, RateGates
from .timing import Timing
from .transport import Reply, Transport

MakePacer: TypeAlias = Callable[[str, RateClass], GatePacer]
"""Makes the pacer of an app's rate class, from the app id and the class."""


@final
class Pool:
    """The connections and places for calls to one region; users see its `state`."""

    def __init__(
        self,
        region: str,
        concurrency: int,
        timing: Timing,
        connect: Callable[[], Transport],
        pace: Pace = Pace(),  # noqa: B008, a frozen value
        make_pacer: MakePacer | None = None,
    ) -> None:
        self.region = region
        self.sent: int = 0
        """The number of attempted exchanges, with and without a connection."""
        self.has_replied: bool = False
        """True once any reply has come; before that, the region may not exist."""
        self.budget: RetryBudget = RetryBudget()
        self.places: PrioritySemaphore = PrioritySemaphore(concurrency)
        self.state: PoolState = PoolState(self)
        make_pacer = make_pacer or partial(_pacer, pace)
        self._gates = RateGates(partial(_rate_gate, make_pacer, timing, self.places), timing)
        self._breakers = Breakers()
        self._timing = timing
        self._connect = connect
        self._transport: Transport | None = None
        self._closed = False

    def __repr__(self) -> str:
        return repr(self.state)

    @property
    def active(self) -> int:
        """The number of calls that hold a place."""
        return self.places.active

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a place or for a slot of a rate limit."""
        return sum(gate.waiting for _, gate in self._gates.known())

    def gate(self, app_id: str, rate_class: RateClass) -> RateGate:
        """Return the rate gate of an app's rate class, which all tasks and views of the session share."""
        return self._gates[app_id, rate_class]

    def gates(self) -> Iterator[tuple[GateKey, RateGate]]:
        """Yield the app id and rate class of each gate, and the gate."""
        return self._gates.known()

    def hosts_down(self) -> tuple[HostState, ...]:
        """Return the hosts whose breakers are open."""
        return self._breakers.down(self._timing.now())

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        """Send `request` once, with a place; raise `ConnectError` at once while its host is down."""
        if self._closed:
            raise RequestInvalidError("the session was closed before the request was sent")
        host = request.host
        breaker, probe = self._breakers.get(host), False
        if breaker is not None:
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
            self._breakers.record_reply(host)
            raise
        except TransportError:
            self._breakers.record_failure(host, self._timing.now(), probe=probe)
            raise
        self.has_replied = True
        self._breakers.record_reply(host)
        return reply

    async def close(self) -> None:
        """Close all connections; later exchanges raise `RequestInvalidError`."""
        self._closed = True
        if self._transport is not None:
            await self._transport.close()

    def _is_down(self, breaker: Breaker, rest: float) -> ConnectError:
        error = ConnectError(
            f"region {self.region} is down: {breaker.failures} exchanges in a row brought no reply; "
            f"nothing was sent, the next probe goes in {rest:.1f} s"
        )
        error.retry_after = rest
        return error


def _pacer(pace: Pace, _: str, rate_class: RateClass) -> Pacer:
    return Pacer(pace, DOCUMENTED_RATES[rate_class])


def _rate_gate(
    make_pacer: MakePacer, timing: Timing, places: PrioritySemaphore, app_id: str, rate_class: RateClass
) -> RateGate:
    return RateGate(make_pacer(app_id, rate_class), timing, places, app_id)
