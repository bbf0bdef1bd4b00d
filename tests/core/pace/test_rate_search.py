"""The search for a rate: the bracket of a 429, and the steps between and beyond its ends."""

from math import inf, isfinite
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

from chatrest._core.pace.rate_search import EVIDENCE, AcceptedRun, Ramp, RateSearch, Strike
from tests.support.cases import loop_over


def strike_of(**facts: Any) -> Strike:
    """Return a strike: by default of 100 requests in a second at 100 a second, held for a second."""
    defaults: dict[str, Any] = {
        "rate": 100.0, "at_rate": 1.0, "accepted": 100, "seconds": 2.0, "held": 1.0, "unneeded": 1.0
    }  # fmt: skip
    return Strike(**{**defaults, **facts})


strikes: Final = st.builds(
    lambda rate, accepted, running, held, part, at: Strike(
        rate=rate,
        at_rate=at * (running + held),
        accepted=accepted,
        seconds=max(running + held, 1e-6),
        held=held,
        unneeded=part * held,
    ),
    st.none() | st.floats(1e-3, 1e6),
    st.integers(EVIDENCE, 10**6),
    st.floats(0, 1e5),
    st.sampled_from([0.0, 1e-9]) | st.floats(0, 120),
    st.floats(0, 1),
    st.floats(0, 1),
)


@given(strikes)
def test_a_bracket_is_positive_in_order_and_not_above_the_rate_in_force(strike: Strike) -> None:
    low, high = strike.bracket()
    assert 0 < low <= high < inf
    assert strike.rate is None or high <= strike.rate


@given(strikes)
def test_without_a_rate_in_force_the_bracket_holds_the_average(strike: Strike) -> None:
    low, high = strike_of(
        rate=None, accepted=strike.accepted, seconds=strike.seconds, held=strike.held
    ).bracket()
    assert low == strike.accepted / strike.seconds <= high


@loop_over(
    ("case", "facts", "bracket"),
    [
        # A first burst has no rate in force, and the service names the rest of the window exactly.
        *(("a window that is exhausted at once", {"rate": None, "accepted": 500, "seconds": seconds,
           "held": seconds - 0.1, "unneeded": 0.0}, (500 / seconds, 500 / seconds))
          for seconds in (1.0, 10.0, 60.0)),
        ("a hold longer than the window is cut at the upper end alone",
         {"rate": None, "accepted": 500, "seconds": 10.9, "held": 1.9}, (500 / 10.9, 500 / 9.9)),
        ("a bucket of 100 a second, and a hold that was longer than it must be",
         {"rate": 103, "at_rate": 10, "accepted": 1020, "seconds": 11}, (1020 / 11, 103)),
        ("a stored burst puts the average above the limit, not above the rate in force",
         {"rate": 110, "at_rate": 2, "accepted": 720, "seconds": 3}, (110, 110)),
        # A minute at 50 a second, half a second at 120, and a hold of half a second that was needed.
        ("a window shorter than the run: what was sent last counts",
         {"rate": 120, "at_rate": 0.5, "accepted": 3060, "seconds": 61, "held": 0.5, "unneeded": 0.0},
         (3060 / 61, 60)),
        ("the average of a rate that was hardly used is no lower end",
         {"at_rate": 100, "accepted": 20, "seconds": 101}, (50, 100)),
    ],
)  # fmt: skip
def test_a_bracket_is_that_of_the_limit(case: str, facts: Any, bracket: tuple[float, float]) -> None:
    assert strike_of(**facts).bracket() == pytest.approx(bracket)


def search_at(rate: float = 100.0, **facts: Any) -> RateSearch:
    """Return a search that began with a 429 at the time 0, without a rate in force."""
    facts = {"rate": None, "accepted": round(rate), "seconds": 1.0, "held": 0.5, "unneeded": 0.0, **facts}
    return RateSearch(strike_of(**facts), 0.0)


class Trials:
    """Full use of a search, a tenth of a second at a time; `changes` are the times and new rates."""

    def __init__(self, search: RateSearch, now: float = 0.0) -> None:
        self.search, self.now = search, now
        self.changes: list[tuple[float, float]] = []

    def use(self, seconds: float) -> "Trials":
        """Use the rate for some seconds; everything is accepted at once."""
        end = self.now + seconds
        while self.now < end:
            self.now += 0.1
            before = self.search.rate
            self.search.use(0.1, self.now, self.now)
            if self.search.rate != before:
                self.changes.append((self.now, self.search.rate))
        return self

    def until_changes(self, number: int) -> "Trials":
        while len(self.changes) < number:
            self.use(0.1)
        return self


def test_a_slow_rate_rises_by_at_least_a_quarter_request_per_second() -> None:
    trials = Trials(search_at(rate=5.0)).until_changes(1)
    assert trials.search.rate == pytest.approx(0.97 * 5 + 0.25)


def test_beyond_the_high_end_trials_become_shorter() -> None:
    trials = Trials(search_at(100)).until_changes(12)
    last, end = (time for time, _ in trials.changes[-2:])
    assert end - last == pytest.approx(1.0, abs=0.15)


events = st.one_of(
    strikes, st.just("slow down"), st.floats(0.0, 1000.0).map(lambda seconds: ("use", seconds))
)


@given(strikes, st.lists(events, max_size=60))
def test_a_search_has_a_positive_rate_and_finally_raises_it(first: Strike, later: list[Any]) -> None:
    search, now = RateSearch(first, 0.0), 0.0
    for event in later:
        now += 1
        if isinstance(event, Strike):
            search.strike(event, now)
        elif event == "slow down":
            search.slow_down(now)
        else:
            now += event[1]
            search.use(event[1], now, now)
        assert 0 < search.rate < inf
        assert isfinite(1 / search.rate)
    rate = search.rate
    patience = 1000 + 10 / rate
    search.use(patience, now + patience, now + patience)
    assert search.rate > rate


def test_a_ramp_steps_back_one_second_but_not_below_the_first_rate() -> None:
    ramp = Ramp(5.0, inf)
    ramp.use(2.5, 0.0, 0.0)
    rates = list[float]()
    for _ in range(4):
        rates.append(ramp.rate)
        ramp.halve()
    assert rates == pytest.approx([5 * 2**2.5, 5 * 2**1.5, 5 * 2**0.5, 5])


def test_a_ramp_has_a_finite_rate_after_any_use() -> None:
    ramp = Ramp(5.0, inf)
    for _ in range(100):
        ramp.use(1e9, 0.0, 0.0)
    assert isfinite(ramp.rate)


def run_of(*times: float) -> AcceptedRun:
    run = AcceptedRun(times[0])
    for time in times:
        run.add(time)
    return run


def test_a_run_restarts_when_traffic_becomes_much_denser() -> None:
    sparse = [60.0 * number for number in range(60)]
    dense = [3600 + number / 100 for number in range(300)]
    count, seconds = run_of(*sparse, *dense).until(3604.0)
    assert count / seconds == pytest.approx(75, rel=0.05)


def test_a_run_ends_with_a_dense_second_that_counts_alone() -> None:
    sparse = [60.0 * number for number in range(60)]
    count, seconds = run_of(*sparse, *(3600 + number / 100 for number in range(50))).until(3601.0)
    assert count / seconds == pytest.approx(50, rel=0.05)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=100), st.floats(-1e6, 1e6))
def test_a_run_of_replies_in_any_order_has_a_positive_time(times: list[float], end: float) -> None:
    count, seconds = run_of(*times).until(end)
    assert 1 <= count <= len(times)
    assert seconds > 0
