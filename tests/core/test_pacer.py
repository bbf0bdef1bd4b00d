"""The pacer against services of every kind, in virtual time: how much of a limit it uses, how politely."""

import heapq
import random
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st

from chatrest.core.pacer import Pace, Pacer, Signal
from chatrest.errors import RequestInvalidError

WINDOW = 60.0


class Fixed:
    """So many in every window; `phase` is where in a window the clock begins."""

    def __init__(self, limit: float, phase: float = 17.3) -> None:
        self.limit, self.phase, self.index, self.used = limit, phase, -1, 0

    def ask(self, now: float) -> tuple[bool, float, float]:
        index, passed = divmod(now + self.phase, WINDOW)
        if index != self.index:
            self.index, self.used = int(index), 0
        accepted = self.used < self.limit
        self.used += accepted
        return accepted, max(0, self.limit - self.used), WINDOW - passed


class Sliding:
    """So many in the last window, at any moment."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.times: deque[float] = deque()

    def ask(self, now: float) -> tuple[bool, float, float]:
        while self.times and self.times[0] <= now - WINDOW:
            self.times.popleft()
        accepted = len(self.times) < self.limit
        if accepted:
            self.times.append(now)
        return accepted, max(0, self.limit - len(self.times)), self.times[0] + WINDOW - now


class Bucket:
    """Tokens that flow in evenly, up to a part of the limit."""

    def __init__(self, limit: float, part: float = 1.0) -> None:
        self.limit, self.part, self.at = limit, part, 0.0
        self.tokens = max(5.0, limit * part)

    def ask(self, now: float) -> tuple[bool, float, float]:
        flow = self.limit / WINDOW
        self.tokens = min(max(5.0, self.limit * self.part), self.tokens + (now - self.at) * flow)
        self.at = now
        accepted = self.tokens >= 1
        self.tokens -= accepted
        return accepted, int(self.tokens), max(0.0, (1 - self.tokens) / flow)


# `ask` says whether a request is accepted, how many more would be, and when the next will be.
Limiter: TypeAlias = Fixed | Sliding | Bucket
KINDS: dict[str, Callable[[float], Limiter]] = {
    "fixed": Fixed,
    "sliding": Sliding,
    "bucket": Bucket,
    "bucket-10": lambda limit: Bucket(limit, 0.1),
    "bucket-1": lambda limit: Bucket(limit, 0.01),
}
STATED = ["on-429", "on-every-reply", "retry-after", "nothing"]


def signal(stated: str, limiter: Limiter, answer: tuple[bool, float, float]) -> Signal:
    accepted, left, wait = answer
    if stated == "on-every-reply":
        return Signal(not accepted, limit=limiter.limit, remaining=left)
    if accepted or stated == "nothing":
        return Signal(not accepted)
    return Signal(True, limiter.limit if stated == "on-429" else None, None, max(1.0, -(-wait // 1)))


class World:
    """Workers that never rest, on one pacer, and a service; counts what came of it, minute by minute."""

    def __init__(self, limiter: Limiter, stated: str, **options: Any) -> None:
        self.limiter, self.stated = limiter, stated
        self.urgent: bool = options.get("urgent", False)
        self.idle: int = options.get("workers", 100)
        self.dice = random.Random(options.get("seed", 7))
        self.pacer = Pacer(options.get("pace", Pace()))
        self.now = 0.0
        self.accepted: dict[int, int] = {}
        self.limited: dict[int, int] = {}
        self.others: dict[int, int] = {}
        self._ahead: list[tuple[float, int, Callable[[], None]]] = []
        self._ids = count()
        if share := options.get("others", 0.0):
            self._other(WINDOW / (share * limiter.limit))

    def at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._ahead, (when, next(self._ids), what))

    def until(self, end: float) -> "World":
        while self.now < end:
            while self.idle and self.pacer.delay(self.now, urgent=self.urgent) == 0:
                self._send()
            when = self._ahead[0][0] if self._ahead else end
            if self.idle:
                when = min(when, self.now + self.pacer.delay(self.now, urgent=self.urgent))
            self.now = max(when, self.now + 1e-9)
            while self._ahead and self._ahead[0][0] <= self.now:
                heapq.heappop(self._ahead)[2]()
        return self

    def _send(self) -> None:
        self.pacer.take(self.now)
        self.idle -= 1
        self.at(self.now + self.dice.uniform(0.02, 0.2), self._arrive)

    def _arrive(self) -> None:
        answer = self.limiter.ask(self.now)
        counts = self.accepted if answer[0] else self.limited
        counts[int(self.now // WINDOW)] = counts.get(int(self.now // WINDOW), 0) + 1
        reply = signal(self.stated, self.limiter, answer)
        self.at(self.now + self.dice.uniform(0.03, 0.2), lambda: self._reply(reply))

    def _reply(self, reply: Signal) -> None:
        self.pacer.observe(self.now, reply)
        self.idle += 1

    def _other(self, gap: float) -> None:
        minute = int(self.now // WINDOW)
        self.others[minute] = self.others.get(minute, 0) + self.limiter.ask(self.now)[0]
        self.at(self.now + gap, lambda: self._other(gap))

    def judge(self, first: int, last: int) -> tuple[float, float]:
        """The share of the limit that was used from minute `first` up to `last`, and the share of 429s."""
        used, limited, others = (
            sum(counts.get(minute, 0) for minute in range(first, last))
            for counts in (self.accepted, self.limited, self.others)
        )
        return (used + others) / (self.limiter.limit * (last - first)), limited / max(1, used + limited)


# ── the limit is learnt, used, and kept ──


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [500, 10_000])
def test_after_the_first_window_a_limit_is_used_and_hardly_ever_struck(
    limit: int, kind: str, stated: str
) -> None:
    tiny = limit == 500 and kind == "bucket-1" and stated in ("retry-after", "nothing")
    # Where no time is stated, the hold may reach into the second window.
    first = 4 if tiny else 2 if stated == "nothing" else 1
    last = first + 5 if limit == 500 else first + (2 if kind == "sliding" else 1)
    used, limited = World(KINDS[kind](limit), stated).until(last * WINDOW).judge(first, last)
    assert (used >= 0.95, limited <= 0.01) == (True, True), (used, limited)


@pytest.mark.parametrize("phase", [0.0, 30.0, 58.0, 59.9])
@pytest.mark.parametrize("stated", STATED)
def test_it_does_not_matter_where_in_a_window_the_work_begins(stated: str, phase: float) -> None:
    used, limited = World(Fixed(500, phase), stated).until(6 * WINDOW).judge(1, 6)
    assert (used >= 0.95, limited <= 0.03) == (True, True), (used, limited)


@pytest.mark.parametrize("kind", KINDS)
def test_urgent_work_without_end_keeps_to_the_limit_as_well(kind: str) -> None:
    world = World(KINDS[kind](500), "on-every-reply", urgent=True)
    used, limited = world.until(6 * WINDOW).judge(1, 6)
    assert (used >= 0.95, limited <= 0.01) == (True, True), (used, limited)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("stated", ["retry-after", "nothing"])
def test_a_429_that_overtakes_every_success_does_not_hide_the_limit(stated: str, seed: int) -> None:
    """A small bucket is empty within the first latency, so the first reply to come may be a refusal."""
    world = World(KINDS["bucket-1"](1000), stated, seed=seed)
    used, limited = world.until(6 * WINDOW).judge(4, 6)
    assert used >= 0.5
    assert limited <= 0.02


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
def test_what_others_take_of_the_limit_is_left_to_them(kind: str, stated: str) -> None:
    used, limited = World(KINDS[kind](600), stated, others=0.6).until(6 * WINDOW).judge(3, 6)
    assert used >= 0.85
    assert limited <= 0.04


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
@pytest.mark.parametrize("factor", [0.5, 2])
def test_a_limit_that_changes_is_learnt_again(factor: float, kind: str, stated: str) -> None:
    world = World(KINDS[kind](900), stated).until(3 * WINDOW)
    world.limiter.limit *= factor
    used, limited = world.until(8 * WINDOW).judge(5, 8)
    shown = stated == "on-every-reply" or (stated == "on-429" and factor < 1)
    assert used >= (0.95 if shown else 0.75 / max(1, factor))
    assert limited <= (0.01 if shown else 0.03)


# ── a rate that is given ──


def sent(pacer: Pacer, gaps: list[float], between: Callable[[float], None] = lambda now: None) -> list[float]:
    """When requests go that come one `gap` after the other, each as soon as it may."""
    times, arrival = [], 0.0
    for gap in gaps:
        arrival += gap
        now = max(arrival, times[-1] if times else 0.0)
        while delay := pacer.delay(now, urgent=False):
            now += delay
        pacer.take(now)
        times.append(now)
        between(now)
    return times


def most(times: list[float], window: float) -> int:
    """The most requests in any window."""
    most_in_window = first = 0
    for last, time in enumerate(times):
        while times[first] <= time - window + 1e-4:
            first += 1
        most_in_window = max(most_in_window, last - first + 1)
    return most_in_window


signals = st.builds(
    Signal,
    limited=st.booleans(),
    limit=st.none() | st.sampled_from([0.0, 1.0, 60.0, 1e9]),
    remaining=st.none() | st.sampled_from([0.0, 1.0, 1e9]),
    retry_after=st.none() | st.sampled_from([0.0, 0.5, 90.0]),
)


@settings(max_examples=100, deadline=None, database=None)
@given(
    st.floats(2, 1000),
    st.sampled_from([1.0, 60.0, 3600.0]),
    st.lists(st.sampled_from([0.0, 0.0, 0.0, 1e-3, 0.1, 1.0, 45.0, 61.0]), min_size=1, max_size=300),
    st.lists(signals, max_size=5),
)
def test_a_given_rate_is_never_exceeded_nor_learnt_away(
    rate: float, window: float, gaps: list[float], signals: list[Signal]
) -> None:
    pacer = Pacer(Pace(rate=rate, window=window))
    left = iter(signals)

    def between(now: float) -> None:
        if (signal := next(left, None)) is not None:
            pacer.observe(now + 0.01, signal)

    assert most(sent(pacer, gaps, between), window) <= rate + max(2.0, 0.02 * rate)
    assert pacer.rate == rate


@pytest.mark.parametrize("rate", [0.1, 0.5, 1, 1.5, 1.99])
def test_a_given_rate_may_be_slow(rate: float) -> None:
    times = sent(Pacer(Pace(rate=rate)), [0.0] * 12)
    assert times[-1] - times[0] >= 9 * WINDOW / rate


def test_a_limit_of_one_is_kept() -> None:
    pacer = Pacer(Pace())
    pacer.observe(0.0, Signal(False, limit=1, remaining=1))
    assert sent(pacer, [0.0] * 5)[-1] >= 2 * WINDOW


def test_a_given_rate_holds_for_urgent_requests_too_whatever_the_service_says_remains() -> None:
    pacer = Pacer(Pace(rate=60))
    pacer.observe(0.0, Signal(False, limit=10_000, remaining=9_999))
    pacer.take(0.0)
    pacer.take(0.0)
    assert pacer.delay(0.0, urgent=True) >= 0.9


# ── urgent requests ──


def test_urgent_requests_pass_while_plenty_remains_and_are_spread_when_the_limit_is_near() -> None:
    pacer = Pacer(Pace())
    pacer.observe(0.0, Signal(False, limit=1000, remaining=990))
    sent(pacer, [0.0] * 30)
    assert pacer.delay(0.0, urgent=True) == 0 < pacer.delay(0.0, urgent=False)
    pacer.observe(0.0, Signal(False, limit=1000, remaining=150))
    assert pacer.delay(0.0, urgent=True) == pacer.delay(0.0, urgent=False) > 0


def test_no_urgent_request_passes_a_limit_that_has_struck() -> None:
    pacer = Pacer(Pace())
    pacer.observe(0.0, Signal(False, limit=1000, remaining=990))
    pacer.observe(1.0, Signal(True, limit=1000, remaining=900, retry_after=7))
    pacer.observe(2.0, Signal(False, limit=1000, remaining=900))  # sent before it struck
    assert pacer.delay(3.0, urgent=True) == 5.0
    assert pacer.delay(3.0, urgent=False) >= 5.0


# ── holds ──


@settings(max_examples=100, deadline=None, database=None)
@given(st.floats(0.1, 120), st.floats(0.01, 0.99), st.lists(st.floats(0, 120), max_size=5), st.booleans())
def test_retry_after_is_obeyed_exactly_up_to_two_windows(
    seconds: float, part: float, others: list[float], urgent: bool
) -> None:
    pacer = Pacer(Pace())
    pacer.observe(100.0, Signal(True, retry_after=seconds))
    for other in others:
        pacer.observe(100.0, Signal(True, retry_after=other))
    longest = max(seconds, *others, 0.0)
    now = 100.0 + part * longest
    pacer.observe(now, Signal(False))  # one that was sent before the limit struck
    assert pacer.delay(now, urgent=urgent) == pytest.approx(100.0 + longest - now, abs=2e-6)
    assert pacer.delay(100.0 + longest, urgent=urgent) == 0


def test_after_a_hold_one_goes_at_a_time_until_a_reply_shows_that_it_is_over() -> None:
    pacer = Pacer(Pace())
    for number in range(61):
        pacer.observe(0.0, Signal(number == 60, retry_after=10))
    pacer.take(10.0)
    assert pacer.is_probing
    assert pacer.delay(10.0, urgent=True) > 0.5
    pacer.observe(10.3, Signal(False))
    assert not pacer.is_probing
    assert pacer.delay(10.3, urgent=True) < 3


def test_a_turn_that_is_given_back_leaves_no_trace() -> None:
    pacer = Pacer(Pace())
    pacer.observe(0.0, Signal(True, limit=60, retry_after=10))
    for _ in range(5):
        assert pacer.delay(10.0, urgent=False) == 0
        pacer.take(10.0)
        pacer.give_back()


def test_holds_without_a_time_double_up_to_a_twelfth_of_the_window() -> None:
    pacer = Pacer(Pace(window=80))
    now, holds = 0.0, []
    for _ in range(8):
        pacer.observe(now, Signal(True))
        holds.append(pacer.delay(now, urgent=True))
        now += holds[-1]
    assert holds == pytest.approx([80 / 60, 160 / 60, 320 / 60, *[80 / 12] * 5])


def test_many_refusals_of_one_moment_are_one_strike() -> None:
    pacer = Pacer(Pace())
    for number in range(150):
        pacer.observe(1.0 if number < 100 else 1.5, Signal(number >= 100))
    assert pacer.rate == pytest.approx(97)
    assert pacer.delay(1.5, urgent=False) == 1.0


@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(st.tuples(st.floats(0, 200), st.integers(0, 30), signals), max_size=60), st.booleans())
def test_waits_and_rates_are_always_within_reason(
    steps: list[tuple[float, int, Signal]], urgent: bool
) -> None:
    pacer, now = Pacer(Pace()), 0.0
    for passed, requests, reply in steps:
        now += passed
        for _ in range(requests):
            if pacer.delay(now, urgent=urgent) == 0:
                pacer.take(now)
        pacer.observe(now, reply)
        assert pacer.rate is None or 0.1 < pacer.rate < 1e12
        for lane in (True, False):
            assert 0 <= pacer.delay(now, urgent=lane) <= 9 * WINDOW


def test_without_a_limit_in_sight_nothing_is_held_back() -> None:
    pacer = Pacer(Pace())
    for _ in range(10_000):
        pacer.take(0.0)
        pacer.observe(0.0, Signal(False))
    assert (pacer.delay(0.0, urgent=False), pacer.rate) == (0, None)


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), True, "3"])
def test_a_pace_that_is_none_is_refused(value: Any) -> None:
    for name in ("rate", "window"):
        with pytest.raises(RequestInvalidError, match=rf"pace\.{name} = "):
            Pace(**{name: value})
