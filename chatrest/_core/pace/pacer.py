"""The pace of one app and rate class: evenly spread slots, at a rate that is searched for.

Pure: it takes the time as an argument and returns the seconds to wait; the rate gate waits. No window is
assumed. A limit may be so many requests a second, ten seconds or a minute, in windows that are fixed or
sliding, or a bucket that refills; it may change, and other clients may use it too. Requests that are spread
evenly keep within all of these, so only their rate has to be found; `rate_search` does that.

A pacer is in one of five states. In each but `held`, a 429 leads to `held`.

- `open`: interactive requests go at once, bulk ones at the rate of a `Ramp`, up to the documented rate.
- `held`: nothing goes until the time that the 429 named; if it named none, one probe goes at a time, after
  waits that grow, until one is accepted. A probe without an answer for 10 s does not count.
- `search`: the state after a hold, at the rate of a `RateSearch`.
- `ramp`: the state after a hold, at the rate of a `Ramp`, if too few or too slow requests came before the 429
  to learn a limit from them. It is `open` again once the ramp reaches the documented rate.
- `given`: the caller gave the rate, and it never changes.

Bulk requests leave a twentieth of the slots free while interactive ones come. While the service says that
more than half of its limit remains, interactive requests need not be spread.
"""

from collections.abc import Mapping
from math import inf
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from ..._struct_help import NamedFields
from ..replies.rate_signal import Signal
from ..requests.arguments import check_optional_seconds, check_seconds, hides_arguments
from .rate_search import EVIDENCE, AcceptedRun, Ramp, RateSearch, Strike

DOCUMENTED_RATES: Final[Mapping[str, float]] = MappingProxyType(
    {"core": 10_000 / 60, "standard": 20_000 / 60, "import": 60 / 60}
)
"""Requests per second by rate class. No bulk ramp exceeds them."""
FIRST_RATE: Final = 10.0
"""Requests per second at which a ramp begins."""

RateSource: TypeAlias = Literal["none", "given", "learnt"]

_BURST: Final = 0.02  # of a window's requests may be ahead of their slots, at a given pace
_LATE: Final = 0.02  # seconds that a request may be woken after its slot without losing it
_PLENTY: Final = 0.5  # of a stated limit: while more remains, interactive requests need not be spread
_BULK_SHARE: Final = 0.95  # of the slots, while interactive requests come
_URGENT_SECONDS: Final = 10.0  # after an interactive request, for which bulk keeps to its share
_FIRST_SECONDS: Final = 2.0  # of a ramp's first rate go at once, as small jobs should be quick
_SPARSE: Final = 5.0  # accepted requests a second; fewer were held back by no limit, but by their caller
POLL_SECONDS: Final = 0.25  # between two looks whether a probe was answered
_INSTANT: Final = 1e-6  # seconds: less cannot be slept, and a clock may not even show it


class Pace(Struct, metaclass=NamedFields, frozen=True, kw_only=True):
    """The pace of calls: `Pace(rate=500)` sends at most 500 requests per window, None learns the limit.

    Raises `RequestInvalidError` for a value that is not above 0.
    """

    rate: float | None = None
    """Requests per window, for each app and rate class."""
    window: float = 60.0
    """Seconds; it has no meaning without a rate."""

    @hides_arguments
    def __post_init__(self) -> None:
        check_optional_seconds("pace.rate", self.rate)
        check_seconds("pace.window", self.window)


class GatePacer(Protocol):
    """See `Pacer`."""

    stated_limit: float | None

    @property
    def rate(self) -> float | None: ...
    @property
    def rate_source(self) -> RateSource: ...
    @property
    def is_probing(self) -> bool: ...
    def delay(self, now: float, *, urgent: bool) -> float: ...
    def take(self, now: float, *, urgent: bool) -> None: ...
    def give_back(self) -> None: ...
    def forget(self) -> None: ...
    def observe(self, now: float, signal: Signal, sent: float) -> None: ...


class _Slots:
    """Slots at even distances (a GCRA), and the time for which all of them have been used.

    A request may take a slot up to `late` seconds ahead. The first `free` requests need no slot.
    """

    def __init__(self, late: float, free: int) -> None:
        self.next = -inf
        self.free = free
        self._late = late
        self._used_since = inf
        self.urgent_at = -inf
        self.last = 0.0
        """The interval that the last request took, in seconds; 0 if it took no slot."""
        self._taken_at = self._confirmed = -inf

    def begin(self, at: float) -> None:
        self.next = self._used_since = at
        self.free = 0

    def take(self, now: float, interval: float, *, urgent: bool) -> None:
        """Take a slot of `interval` seconds; a bulk request takes a longer one while urgent ones come."""
        if self.free:
            self.free -= 1
            return
        if not urgent and self.has_urgent(now):
            interval /= _BULK_SHARE
        if self.next < now - self._late - interval:  # one was left unused
            self._used_since = now
        self.next = max(self.next, now - self._late) + interval
        self._taken_at, self.last = now, interval

    def has_urgent(self, now: float) -> bool:
        return now - self.urgent_at < _URGENT_SECONDS

    def confirm(self, sent: float) -> float:
        """Return the further seconds of full use that an accepted request shows; 0 for one without a slot."""
        if self._taken_at <= self._confirmed:  # as of interactive requests that nothing bounds
            return 0.0
        until, since = min(sent, self._taken_at), max(self._confirmed, self._used_since)
        if until <= since:
            return 0.0
        self._confirmed = until
        return until - since


class _Hold:
    """The time in which nothing is sent after a 429; probes show its end where the 429 named none.

    The waits between probes grow by half, from three intervals of the present rate.
    """

    _FIRST, _MIN, _MAX_FIRST, _MAX = 0.25, 0.05, 1.0, 30.0
    _GROWTH = 1.5
    _COARSE = 1.0  # seconds by which a named time may be too long: services name whole seconds
    _PATIENCE = 10.0  # seconds after which another probe may go; one that is never answered must not hold all

    def __init__(self, sent: float, now: float, rate: float | None) -> None:
        self.began = now
        self.rate = rate
        self.sent = sent
        """The time at which the first refused request was sent."""
        self.is_named = False
        self._probed_at: float | None = None
        self._refused = now
        self._unused = 0.0
        self._wait = min(self._MAX_FIRST, max(self._MIN, 3 / rate)) if rate is not None else self._FIRST
        self.until = now + self._wait
        """The time at which the next request may be sent."""

    def delay(self, now: float) -> float:
        is_probing = self._probed_at is not None and now < self._probed_at + self._PATIENCE
        return POLL_SECONDS if is_probing else self.until - now

    def probe(self, now: float) -> None:
        """Note that a probe is sent at `now`, perhaps later than possible, if no request was wanted."""
        if self._probed_at is None:  # else the one before was wanted, and is not answered yet
            self._unused += max(0.0, now - self.until)
        self._probed_at = now
        self.until = max(self.until, now)

    def end_probe(self) -> None:
        self._probed_at = None

    def end(self, at: float) -> float:
        """Return the time `at`, less the seconds of the hold in which no request was wanted."""
        # An older probe may be accepted after a newer one went: the hold is never shorter than nothing.
        return max(self.began, min(at, self.until) - self._unused)

    def refuse(self, sent: float, now: float, seconds: float | None) -> None:
        """Note a 429 that came at `now` and named `seconds`, to a request that was sent at `sent`."""
        if seconds is not None:
            self.until = max(self.until, now + seconds) if self.is_named else now + seconds
            self.is_named = True
        if sent > self.began:  # it was a probe
            self.end_probe()
            self._refused = max(self._refused, sent - self._unused)
            self._wait = min(self._MAX, self._GROWTH * self._wait)
            self.until = max(self.until, now + self._wait)

    def unneeded(self, end: float) -> float:
        """Return the seconds before `end`, the hold's end, that may not have been needed."""
        return min(self._COARSE, end - self.began) if self.is_named else end - self._refused


class Pacer:
    """The pace of one app and rate class; `documented` requests a second are the most that a ramp reaches."""

    def __init__(self, pace: Pace, documented: float = DOCUMENTED_RATES["standard"]) -> None:
        given = None if pace.rate is None else pace.rate / pace.window
        late = _LATE if pace.rate is None else max(_LATE, (_BURST * pace.rate - 1) * pace.window / pace.rate)
        self.stated_limit: float | None = None
        """The limit as the last reply stated it, in requests of a window that it does not name."""
        self.remaining: float | None = None
        """The requests that remain, as the last reply stated it, less those since."""
        self._is_given = given is not None
        self._curve: Ramp | RateSearch | None = None if given is None else Ramp(given, given)
        self._start = Ramp(min(FIRST_RATE, documented), documented)
        free = 0 if given is not None else int(_FIRST_SECONDS * self._start.rate)
        self._slots = _Slots(late, free)
        self._hold: _Hold | None = None
        self._run: AcceptedRun | None = None
        self._resumed_at = -inf

    @property
    def rate(self) -> float | None:
        """Requests per second that may be sent; None while only bulk requests are bounded."""
        return None if self._curve is None else self._curve.rate

    @property
    def bulk_rate(self) -> float:
        """Requests per second at which bulk requests are sent while no limit holds them back."""
        return (self._curve or self._start).rate

    @property
    def held_since(self) -> float | None:
        """The time of the 429 that holds requests back; None while none does."""
        return None if self._hold is None else self._hold.began

    @property
    def rate_source(self) -> RateSource:
        if self._is_given:
            return "given"
        return "learnt" if isinstance(self._curve, RateSearch) else "none"

    @property
    def is_probing(self) -> bool:
        """True while a limit holds and its end is not known: any reply may show it."""
        return self._hold is not None

    def delay(self, now: float, *, urgent: bool) -> float:
        if self._hold is not None:
            wait = self._hold.delay(now)
        elif (urgent and self._curve is None) or not self._is_spread(urgent):
            return 0.0
        else:
            wait = self._slots.next - now
        return wait if wait > _INSTANT else 0.0

    def take(self, now: float, *, urgent: bool) -> None:
        slots = self._slots
        slots.last = 0.0
        if urgent:
            slots.urgent_at = now
        if self.remaining is not None:
            self.remaining -= 1
        if self._hold is not None:
            if not self._hold.is_named:
                self._hold.probe(now)
                return
            self._resume(now, self._hold.end(now))
        curve = self._curve or (None if urgent else self._start)
        if curve is not None:
            slots.take(now, 1 / curve.rate, urgent=urgent)

    def give_back(self) -> None:
        """Undo the last `take`: its request is not sent."""
        self.forget()
        if self.remaining is not None:
            self.remaining += 1
        self._slots.next -= self._slots.last

    def forget(self) -> None:
        """Note that a request got no reply."""
        if self._hold is not None:
            self._hold.end_probe()

    def observe(self, now: float, signal: Signal, sent: float) -> None:
        self.stated_limit = signal.limit or self.stated_limit
        if signal.is_limited:
            self.remaining = 0.0 if self.remaining is not None else None
            if self._hold is None:
                if sent < self._resumed_at:  # it was refused by a limit whose end was seen since then
                    return
                self._hold = _Hold(sent, now, self._rate_at(sent))
            self._hold.refuse(sent, now, signal.retry_after)
            return
        if signal.remaining is not None:
            self.remaining = signal.remaining
        if self._run is None:
            self._run = AcceptedRun(sent)
        self._run.add(sent)
        if self._hold is None:
            if (seconds := self._slots.confirm(sent)) > 0:
                (self._curve or self._start).use(seconds, sent, now)
            if isinstance(self._curve, Ramp) and self._curve.is_over and not self._is_given:
                self._curve = None
        elif sent > self._hold.began:
            self._resume(now, self._hold.end(sent))

    def _is_spread(self, urgent: bool) -> bool:
        if not urgent:
            return True
        return self._is_given or (
            self.stated_limit is None
            or self.remaining is None
            or self.remaining <= _PLENTY * self.stated_limit
        )

    def _rate_at(self, sent: float) -> float | None:
        if self._curve is not None:
            return self._curve.rate_at(sent)
        is_bound = self._start.rate >= 2 * self._start.first and not self._slots.has_urgent(sent)
        return self._start.rate if is_bound else None

    def _resume(self, now: float, end: float) -> None:
        hold, self._hold, self._resumed_at = self._hold, None, now
        assert hold is not None
        if self._is_given:
            self._slots.begin(now)  # it may be one request an hour
            return
        self._learn(hold, now, end)
        assert self._curve is not None
        # The limit has room for one request again: that of the probe, or of the time that it named.
        self._slots.begin(now + 1 / self._curve.rate)

    def _learn(self, hold: _Hold, now: float, end: float) -> None:
        accepted, seconds = (0, 0.0) if self._run is None else self._run.until(end)
        search = self._curve if isinstance(self._curve, RateSearch) else None
        ramp = self._curve if isinstance(self._curve, Ramp) else self._start
        # A few calls a minute say nothing about a limit: a 429 among them may have any cause.
        is_sparse = self._curve is None and accepted < _SPARSE * (seconds - (end - hold.began))
        if accepted >= EVIDENCE and not is_sparse:
            strike = Strike(
                rate=hold.rate,
                at_rate=min(seconds, ramp.seconds if search is None else hold.began - search.changed_at),
                accepted=accepted,
                seconds=seconds,
                held=end - hold.began,
                unneeded=hold.unneeded(end),
            )
            if search is None:
                self._curve = RateSearch(strike, now)
            else:
                search.strike(strike, now)
            self._run = AcceptedRun(end)
        elif search is not None:
            search.slow_down(now)
        elif isinstance(self._curve, Ramp):
            self._curve.halve()
        else:
            self._curve, self._run = Ramp(self._start.first, self._start.most), None
