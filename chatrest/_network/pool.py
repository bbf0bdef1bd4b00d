"""The pool of a region: its connections, its places and its rate limits.

Regions share nothing: a region that is slow or down fills only its own pool. Inside a region no app keeps the
places from another one: see `places.py`. Only this module limits concurrency.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, final

from msgspec import Struct

from .._core.pace.pacer import DOCUMENTED_RATES, Pace, Pacer
from .._core.pace.retry import RetryBudget
from .._core.requests.arguments import Timeouts
from .._core.requests.endpoint import RateClass
from .._core.requests.wire import Request
from .._struct_help import StructHelp
from .._texts import name_list
from ..errors import RequestInvalidError
from .places import PrioritySemaphore
from .rate_gate import MakePacer as MakePacer, RateGate, RateGates
from .timing import Timing

if TYPE_CHECKING:
    from .transport import Reply, Transport

LimitSource: TypeAlias = Literal["none", "given", "stated", "learnt"]

_MAX_NAMES: Final = 3
"""Names of apps that the repr of a pool shows."""
_MINUTE: Final = 60.0
"""Seconds: the window of a limit that response headers state."""


class LimitState(Struct, metaclass=StructHelp, frozen=True, kw_only=True):
    """The rate limit of one app and rate class, and the requests that wait: of `session.pools[…].limits`."""

    app_id: str
    rate_class: RateClass
    """`core`, `standard` or `import`: the classes for which the service documents a limit each."""
    limit: float | None
    """The limit in requests a second; None while none is known."""
    source: LimitSource
    """`given` by `Pace`, `learnt` from 429 replies, else `stated` by response headers, or `none`."""
    rate: float | None
    """Requests a second that are sent at most at present; None without a limit."""
    next_slot: float
    """Seconds until the next waiting request may be sent, as far as the limit is concerned."""
    interactive: int
    """Waiting interactive requests."""
    bulk: int
    """Waiting bulk requests."""
    active: int
    """Requests of the app, in all rate classes, that are under way."""

    @property
    def waiting(self) -> int:
        """All waiting requests."""
        return self.interactive + self.bulk

    def __str__(self) -> str:
        limit = "no limit known" if self.limit is None else f"limit {self.limit:.4g}/s {self.source}"
        rate = "" if self.rate is None else f", now {self.rate:.4g}/s"
        waits = f", {self.interactive} interactive and {self.bulk} bulk waiting" if self.waiting else ""
        slot = f", next slot in {self.next_slot:.1f} s" if self.next_slot > 0 else ""
        return f"{self.app_id} {self.rate_class}: {limit}{rate}, {self.active} under way{waits}{slot}"


@final
class PoolState:
    """The calls to one region at this moment; it can be read at any time and costs nothing until then."""

    __slots__ = ("_pool",)

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool

    @property
    def region(self) -> str:
        """The name of the region."""
        return self._pool.region

    @property
    def concurrency(self) -> int:
        """The number of requests that may be under way at the same time."""
        return self._pool.places.count

    @property
    def active(self) -> int:
        """The number of requests under way; more than `concurrency` only while `is_lending`."""
        return self._pool.places.active

    @property
    def is_lending(self) -> bool:
        """True while apps hold all places and calls of other apps go beyond `concurrency`."""
        return self._pool.places.is_lending

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a place or for a rate limit."""
        return sum(gate.waiting for gate in self._pool.gates.values())

    @property
    def is_full(self) -> bool:
        """True while requests wait for a place; without, all waiting requests wait for a rate limit."""
        return self._pool.places.waiting > 0

    @property
    def sent(self) -> int:
        """The number of attempted exchanges, with and without a connection."""
        return self._pool.sent

    @property
    def limits(self) -> tuple[LimitState, ...]:
        """The rate limit of each app and rate class that was used."""
        return tuple(_limit_state(*key, gate) for key, gate in self._pool.gates.items())

    def __repr__(self) -> str:
        lending = ", lending" if self.is_lending else ""
        return (
            f"<Pool {self.region}: {self.active} of {self.concurrency} places in use{lending}, "
            f"{self.waiting} waiting, {self.sent} sent{self._held_back()}>"
        )

    def _held_back(self) -> str:
        limits = (_limit_state(*key, gate) for key, gate in self._pool.gates.items() if gate.waiting)
        apps = dict.fromkeys(limit.app_id for limit in limits if limit.next_slot > 0)
        return f", held back: {name_list(list(apps), _MAX_NAMES)}" if apps else ""


class Pool:
    """The connections, places and rate limits of one region; users see its `state`."""

    def __init__(
        self,
        region: str,
        concurrency: int,
        timing: Timing,
        connect: "Callable[[], Transport]",
        pace: Pace = Pace(),  # noqa: B008, a frozen value
        make_pacer: MakePacer | None = None,
    ) -> None:
        self.region = region
        self.sent: int = 0
        self.has_replied: bool = False
        """True once any reply has arrived; before that, the region may not exist."""
        self.budget: RetryBudget = RetryBudget()
        self.places: PrioritySemaphore = PrioritySemaphore(concurrency)
        self.state: PoolState = PoolState(self)
        make_own: MakePacer = lambda _, rate_class: Pacer(pace, DOCUMENTED_RATES[rate_class])  # noqa: E731
        self.gates: RateGates = RateGates(make_pacer or make_own, timing, self.places)
        """The rate gates by app and rate class, which all tasks and views of the session share."""
        self._connect = connect
        self._transport: Transport | None = None
        self._closed = False

    def exchange(self, request: Request, timeouts: Timeouts) -> "Awaitable[Reply]":
        """Return an awaitable that sends `request` once; its caller has a place, and sets `has_replied`.

        Raises `RequestInvalidError` once the pool is closed.
        """
        if self._closed:
            raise RequestInvalidError("the session was closed before the request was sent")
        if self._transport is None:
            self._transport = self._connect()
        self.sent += 1
        return self._transport.exchange(request, timeouts)

    async def close(self) -> None:
        self._closed = True
        if self._transport is not None:
            await self._transport.close()


def _limit_state(app_id: str, rate_class: RateClass, gate: RateGate) -> LimitState:
    lanes, pacer = gate.lanes, gate.pacer
    source: LimitSource = pacer.rate_source
    limit = None if source == "none" else pacer.rate
    if source == "none" and pacer.stated_limit is not None:
        limit, source = pacer.stated_limit / _MINUTE, "stated"
    return LimitState(
        app_id=app_id,
        rate_class=rate_class,
        limit=limit,
        source=source,
        rate=pacer.rate,
        next_slot=gate.delay("bulk" if lanes.bulk and not lanes.interactive else "interactive"),
        interactive=len(lanes.interactive),
        bulk=len(lanes.bulk),
        active=gate.app.active,
    )
