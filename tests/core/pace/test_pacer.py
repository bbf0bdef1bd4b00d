"""The pacer's states, row by row of its table, and what holds in all of them."""

from collections.abc import Callable
from itertools import pairwise, product
from math import isfinite
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

from chatrest._core.pace.pacer import DOCUMENTED_RATES, FIRST_RATE, Pace, Pacer
from chatrest._core.replies.rate_signal import Signal
from chatrest.errors import RequestInvalidError
from tests.core.pace.rate_limits import Simulation, TokenBucket, exchange, exchange_all
from tests.support.cases import loop_over

ACCEPTED: Final = Signal(False)
REFUSED: Final = Signal(True)


def refused_at(now: float, accepted: int = 0, retry_after: float | None = None) -> Pacer:
    """Return a pacer that had `accepted` requests accepted in the second before `now`, and then a 429."""
    pacer = Pacer(Pace())
    for number in range(accepted):
        exchange(pacer, now - 1 + number / accepted)
    pacer.take(now, urgent=True)
    pacer.observe(now, Signal(True, retry_after=retry_after), now)
    return pacer


def learnt(rate: float = 100.0) -> Pacer:
    """Return a pacer that has learnt a limit of `rate` requests a second, at the time 60."""
    return Simulation(TokenBucket(rate, 20), "exact").add().run(60).clients[0].pacer


def test_open_interactive_requests_go_at_once() -> None:
    pacer = Pacer(Pace())
    assert exchange_all(pacer, 7.0, 1000) == [7.0] * 1000
    assert (pacer.rate, pacer.rate_source, pacer.is_probing) == (None, "none", False)


@pytest.mark.parametrize("rate_class", DOCUMENTED_RATES)
def test_open_bulk_requests_start_at_twenty_and_their_rate_doubles(rate_class: str) -> None:
    documented = DOCUMENTED_RATES[rate_class]
    pacer = Pacer(Pace(), documented)
    times = exchange_all(pacer, 0.0, round(12 * documented) + 12, urgent=False)
    seconds = [sum(second < time <= second + 1 for time in times) for second in range(10)]
    assert times.count(0.0) <= 21
    assert sum(seconds[:2]) <= 45
    for earlier, later in pairwise(seconds[1:]):
        assert earlier * 0.8 <= later <= min(2.3 * earlier, documented * 1.02) + 1
    assert seconds[-1] == pytest.approx(documented, rel=0.02)


@pytest.mark.parametrize("earlier_bulk_requests", [0, 25])
def test_open_interactive_requests_do_not_advance_the_bulk_ramp(earlier_bulk_requests: int) -> None:
    pacer = Pacer(Pace())
    exchange_all(pacer, 0.0, earlier_bulk_requests, urgent=False)
    exchange_all(pacer, 1.0, 3)
    exchange_all(pacer, 100.0, 3)
    times = exchange_all(pacer, 100.0, 60, urgent=False)
    assert times[-1] - times[0] >= 1.5


def test_open_replies_that_never_come_do_not_advance_the_bulk_ramp() -> None:
    pacer, now = Pacer(Pace()), 0.0
    for _ in range(120):
        while delay := pacer.delay(now, urgent=False):
            now += delay
        pacer.take(now, urgent=False)
        pacer.forget()
    assert now >= 9


@pytest.mark.parametrize("urgent", [True, False])
@pytest.mark.parametrize("accepted", [0, 300])
@given(seconds=st.floats(0.1, 120), others=st.lists(st.floats(0, 120), max_size=5), part=st.floats(0, 0.99))
def test_hold_waits_exactly_the_named_time(
    accepted: int, urgent: bool, seconds: float, others: list[float], part: float
) -> None:
    pacer = refused_at(100.0, accepted, seconds)
    for other in others:
        pacer.observe(100.0, Signal(True, retry_after=other), 99.9)
    end = 100.0 + max(seconds, *others, 0.0)
    now = 100.0 + part * (end - 100.0)
    pacer.observe(now, ACCEPTED, 99.9)  # it was sent before the 429 came
    assert pacer.is_probing
    assert pacer.delay(now, urgent=urgent) == pytest.approx(end - now, abs=2e-6)
    assert pacer.delay(end + 1e-6, urgent=urgent) == 0


def test_hold_without_a_named_time_sends_single_probes_after_growing_waits() -> None:
    pacer, now, waits = refused_at(0.0), 0.0, list[float]()
    for _ in range(20):
        waits.append(pacer.delay(now, urgent=True))
        now += waits[-1]
        pacer.take(now, urgent=True)
        assert pacer.delay(now + 1, urgent=True) > 0
        pacer.observe(now := now + 1, REFUSED, now - 1)
    assert waits[0] <= 1
    assert waits == sorted(waits)
    assert waits[-1] == 30


def test_hold_sends_another_probe_after_one_without_a_reply() -> None:
    pacer = refused_at(0.0)
    for end in (pacer.forget, pacer.give_back):
        pacer.take(1.0, urgent=True)
        assert pacer.delay(1.0, urgent=True) > 0
        end()
        assert pacer.delay(1.0, urgent=True) == 0


def test_hold_waits_ten_seconds_at_most_for_the_reply_to_a_probe() -> None:
    pacer = refused_at(0.0)
    pacer.take(1.0, urgent=False)
    assert pacer.delay(10.9, urgent=True) > 0
    assert pacer.delay(11.1, urgent=True) == 0
    pacer.take(11.1, urgent=True)
    assert pacer.delay(11.2, urgent=True) > 0  # one at a time, still
    pacer.observe(11.3, ACCEPTED, 11.1)
    assert not pacer.is_probing


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_hold_measures_the_rate_from_the_probe_that_was_answered(is_forgotten: bool) -> None:
    pacer = refused_at(10.0, 300)
    pacer.take(10.3, urgent=True)
    if is_forgotten:
        pacer.forget()
    pacer.take(25.0, urgent=True)
    pacer.observe(25.1, ACCEPTED, 10.3)
    assert pacer.rate is not None
    assert 200 <= pacer.rate <= 300


def test_hold_replaces_guessed_waits_by_a_named_time() -> None:
    pacer = refused_at(0.0)
    pacer.observe(0.0, Signal(True, retry_after=7.0), -0.1)
    assert pacer.delay(0.0, urgent=True) == 7.0


@loop_over(("accepted", "source"), [(300, "learnt"), (5, "learnt"), (3, "none"), (0, "none")])
@loop_over("retry_after", [1.0, None])
def test_hold_ends_in_a_search_after_five_accepted_requests_else_in_a_ramp(
    retry_after: float | None, accepted: int, source: str
) -> None:
    pacer = refused_at(10.0, accepted, retry_after)
    exchange(pacer, 10 + pacer.delay(10.0, urgent=True))
    assert not pacer.is_probing
    assert pacer.rate_source == source
    assert pacer.rate is not None


def test_hold_is_not_restarted_by_requests_refused_before_the_end() -> None:
    pacer = refused_at(0.0)
    exchange(pacer, 1.0)
    pacer.observe(1.1, REFUSED, 0.9)
    assert not pacer.is_probing
    pacer.observe(1.2, REFUSED, 1.1)
    assert pacer.is_probing


def test_ramp_doubles_the_rate_per_second_of_use_up_to_the_documented_one() -> None:
    pacer = refused_at(0.0, retry_after=1.0)
    times = exchange_all(pacer, 1.0, 4000)
    seconds = [sum(2 + second < time <= 3 + second for time in times) for second in range(4)]
    for earlier, later in pairwise(seconds):
        assert 1.6 * earlier <= later <= 2.4 * earlier
    assert (pacer.rate, pacer.rate_source) == (None, "none")
    assert times[-1] < 8


def test_ramp_a_further_429_halves_the_rate_but_never_below_the_first_one() -> None:
    pacer = refused_at(0.0, retry_after=1.0)
    exchange(pacer, 1.0)
    first = pacer.rate
    assert first == FIRST_RATE
    for now in (2.0, 4.0, 6.0):
        pacer.observe(now, Signal(True, retry_after=1.0), now)
        pacer.take(now + 1, urgent=True)
        assert pacer.rate == first


def test_search_a_429_begins_a_hold_and_then_a_lower_rate() -> None:
    pacer = learnt(100.0)
    rate = pacer.rate or 0.0
    now = exchange_all(pacer, 60.0, 200)[-1]
    pacer.observe(now, Signal(True, retry_after=2.0), now)
    assert pacer.delay(now, urgent=True) == 2.0
    exchange(pacer, now + 2)
    assert 0.5 * rate <= (pacer.rate or 0.0) < rate


def test_search_a_first_429_of_a_bulk_ramp_is_bracketed_by_the_ramps_rate() -> None:
    pacer, now = Pacer(Pace()), 0.0
    while pacer.bulk_rate < 120:
        now += pacer.delay(now, urgent=False)
        exchange(pacer, now, urgent=False)
    pacer.take(now, urgent=False)
    pacer.observe(now, Signal(True), now)
    exchange(pacer, now + pacer.delay(now, urgent=False), urgent=False)
    assert 90 <= (pacer.rate or 0.0) <= 120


def test_search_lowers_the_rate_a_little_for_early_429s_and_has_a_floor() -> None:
    pacer, now = learnt(100.0), 60.0
    rates = [pacer.rate or 0.0]
    for _ in range(200):
        pacer.observe(now, Signal(True, retry_after=1.0), now)
        now += 1
        pacer.take(now, urgent=True)
        rates.append(pacer.rate or 0.0)
    assert rates[0] >= rates[1] > rates[2] >= 0.9 * rates[1]
    assert rates[-1] >= 0.3 * rates[1]


@pytest.mark.parametrize("retry_after", [5.0, None])
def test_given_a_429_holds_and_changes_no_rate(retry_after: float | None) -> None:
    pacer = Pacer(Pace(rate=600))
    for number in range(20):
        exchange(pacer, number / 10)
    pacer.observe(2.0, Signal(True, retry_after=retry_after), 2.0)
    assert pacer.delay(2.0, urgent=True) > 0.2
    times = exchange_all(pacer, 2.0, 100)
    assert times[-1] - times[1] == pytest.approx(9.8, rel=0.05)
    assert (pacer.rate, pacer.rate_source) == (10.0, "given")


def most(times: list[float], window: float) -> int:
    """Return the largest number of requests within any `window` seconds."""
    largest = first = 0
    for last, time in enumerate(times):
        while times[first] <= time - window + 1e-4:
            first += 1
        largest = max(largest, last - first + 1)
    return largest


@given(
    st.floats(0.1, 1000),
    st.sampled_from([1.0, 60.0, 3600.0]),
    st.lists(st.sampled_from([0.0, 0.0, 0.0, 1e-3, 0.1, 1.0, 45.0, 61.0]), min_size=1, max_size=300),
    st.booleans(),
)
def test_given_rate_is_exceeded_by_the_burst_at_most(
    rate: float, window: float, gaps: list[float], urgent: bool
) -> None:
    pacer, times, arrival = Pacer(Pace(rate=rate, window=window)), list[float](), 0.0
    for gap in gaps:
        arrival += gap
        times += exchange_all(pacer, max(arrival, *times[-1:], 0.0), 1, urgent=urgent)
    assert most(times, window) <= rate + max(2.0, 0.02 * rate)


def test_given_rate_limits_interactive_requests_whatever_remains() -> None:
    pacer = Pacer(Pace(rate=60))
    pacer.observe(0.0, Signal(False, limit=10_000, remaining=9_999), 0.0)
    exchange_all(pacer, 0.0, 2)
    assert pacer.delay(0.0, urgent=True) >= 0.9


def test_bulk_leaves_a_twentieth_of_the_slots_while_interactive_requests_come() -> None:
    pacer = learnt(100.0)
    rate = pacer.rate or 0.0
    alone = exchange_all(pacer, 120.0, 101, urgent=False)
    exchange(pacer, 130.0)
    beside = exchange_all(pacer, 130.0, 101, urgent=False)
    assert alone[-1] - alone[1] == pytest.approx(99 / rate, rel=0.03)
    assert beside[-1] - beside[1] == pytest.approx(99 / (0.95 * rate), rel=0.03)


def test_interactive_requests_are_spread_only_below_half_of_a_stated_limit() -> None:
    pacer = learnt(100.0)
    pacer.observe(120.0, Signal(False, limit=1000, remaining=990), 120.0)
    assert exchange_all(pacer, 120.0, 30) == [120.0] * 30
    assert pacer.delay(120.0, urgent=False) > 0
    pacer.observe(120.0, Signal(False, limit=1000, remaining=450), 120.0)
    assert pacer.delay(120.0, urgent=True) == pacer.delay(120.0, urgent=False) > 0


def test_requests_count_against_the_stated_remainder_until_the_next_reply() -> None:
    pacer = Pacer(Pace())
    pacer.observe(0.0, Signal(False, limit=100, remaining=10), 0.0)
    for _ in range(3):
        pacer.take(0.0, urgent=True)
    pacer.give_back()
    assert (pacer.stated_limit, pacer.remaining) == (100, 8)
    pacer.observe(0.0, Signal(True, retry_after=1.0), 0.0)
    assert (pacer.stated_limit, pacer.remaining) == (100, 0)


STATES: Final[dict[str, Callable[[], Pacer]]] = {
    "open": lambda: Pacer(Pace()),
    "ramp": lambda: refused_at(59.0, 0, 0.5),
    "search": learnt,
    "given": lambda: Pacer(Pace(rate=600)),
}


@pytest.mark.parametrize("urgent", [True, False])
@pytest.mark.parametrize("state", STATES)
def test_a_request_that_is_given_back_takes_no_slot(state: str, urgent: bool) -> None:
    pacer = STATES[state]()
    now = exchange_all(pacer, 60.0, 30, urgent=urgent)[-1] + pacer.delay(60.0, urgent=urgent) + 1
    for _ in range(3):
        assert pacer.delay(now, urgent=urgent) == 0
        pacer.take(now, urgent=urgent)
        pacer.give_back()
    gaps = [exchange_all(pacer, now, 1, urgent=urgent)[0] - now for _ in range(2)]
    assert gaps[0] == 0
    assert gaps[1] <= 1.001 / (pacer.rate or 10)


RETRY_AFTERS: Final = st.none() | st.sampled_from([0.0, 0.3, 1.0, 60.0, 120.0])
EVENTS: Final = st.one_of(
    st.tuples(st.just("pass"), st.sampled_from([0.0, 1e-9, 0.01, 0.3, 1.0, 20.0, 5000.0])),
    st.tuples(st.just("send"), st.tuples(st.integers(1, 30), st.booleans())),
    st.tuples(st.just("accept"), st.integers(0, 30)),
    st.tuples(st.just("refuse"), st.tuples(st.integers(0, 30), RETRY_AFTERS)),
    st.tuples(st.just("lose"), st.none()),
    st.tuples(st.just("give back"), st.none()),
)


class Session:
    """A pacer, its clock, and the times at which the requests in flight were sent: none for over a minute."""

    def __init__(self, pace: Pace, now: float) -> None:
        self.pacer, self.now = Pacer(pace), now
        self.in_flight: list[float] = []

    def apply(self, kind: str, value: Any) -> None:
        """Let an event happen, if it can; replies arrive in any order."""
        if kind == "pass":
            self.now += value
            while self.in_flight and self.in_flight[0] < self.now - 60:
                self.in_flight.pop(0)
                self.pacer.forget()
        elif kind == "send":
            self._send(*value)
        elif not self.in_flight:
            return
        elif kind == "accept":
            self.pacer.observe(self.now, ACCEPTED, self._pop(value))
        elif kind == "refuse":
            self.pacer.observe(self.now, Signal(True, retry_after=value[1]), self._pop(value[0]))
        elif kind == "lose":
            self.in_flight.pop()
            self.pacer.forget()
        else:
            self.in_flight.pop()
            self.pacer.give_back()

    def _send(self, number: int, urgent: bool) -> None:
        for _ in range(number):
            if self.pacer.delay(self.now, urgent=urgent) == 0:
                self.pacer.take(self.now, urgent=urgent)
                self.in_flight.append(self.now)

    def _pop(self, index: int) -> float:
        return self.in_flight.pop(index % len(self.in_flight))


@given(
    st.lists(EVENTS, max_size=80),
    st.sampled_from([-1e6, 0.0, 1e6]),
    st.sampled_from([Pace(), Pace(), Pace(rate=300)]),
)
def test_whatever_happens_waits_are_bounded_and_the_pacer_recovers(
    events: list[tuple[str, Any]], begin: float, pace: Pace
) -> None:
    session = Session(pace, begin)
    pacer = session.pacer
    for kind, value in events:
        session.apply(kind, value)
        slot = 0.2 if pacer.rate is None else 1 / pacer.rate
        for urgent in (True, False):
            delay = pacer.delay(session.now, urgent=urgent)
            assert isfinite(delay)
            assert 0 <= delay <= max(120.0, 3 * slot) + 1e-6
        assert isfinite(slot)
    pacer.forget()
    times = exchange_all(pacer, session.now, 200)
    assert not pacer.is_probing
    assert times[-1] - session.now <= 3000  # eight times the longest hold, before the rate is raised


@loop_over("seconds", [None, 1.0, 60.0])
@loop_over("gap", [0.5, 5.0, 60.0])
def test_a_stray_429_among_few_calls_does_not_make_the_next_ones_wait(
    gap: float, seconds: float | None
) -> None:
    pacer = Pacer(Pace())
    for number in range(60):
        exchange(pacer, number * gap)
    refused_at = 60 * gap
    pacer.observe(refused_at, Signal(True, retry_after=seconds), refused_at)
    times = exchange_all(pacer, refused_at + (seconds or 0.0), 51)
    assert times[0] <= refused_at + max(1.0, seconds or 0.0)
    assert times[-1] - times[0] <= 6


def test_an_hour_of_429s_does_not_bring_the_rate_down_for_good() -> None:
    pacer, now = Pacer(Pace()), 0.0
    for _ in range(300):
        exchange(pacer, now := now + 0.01)
    while now < 3600:
        while delay := pacer.delay(now, urgent=True):
            now += delay
        pacer.take(now, urgent=True)
        pacer.observe(now + 0.01, Signal(True, retry_after=1), now)
        now += 0.01
    times = exchange_all(pacer, now, 100)
    assert times[0] - now <= 1
    assert times[-1] - times[0] <= 5


def test_idle_time_after_a_hold_does_not_change_the_rate() -> None:
    for seconds in (2.0, None):
        pacer = Pacer(Pace())
        for number in range(300):
            exchange(pacer, number / 30)
        pacer.take(10.0, urgent=True)
        pacer.observe(10.0, Signal(True, retry_after=seconds), 10.0)
        times = exchange_all(pacer, 3610.0, 50)
        assert times[-1] - times[0] <= 3


@loop_over(
    ("name", "value"),
    [("window", None), *product(("rate", "window"), (0, -1, float("inf"), float("nan"), True, "3"))],
)
def test_a_pace_that_is_not_positive_seconds_or_requests_is_refused(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"pace\.{name} = "):
        Pace(**{name: value})
