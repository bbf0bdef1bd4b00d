"""Rate limits of every kind, and clients that work against them through pacers, in virtual time.

A simulation is a queue of events: no socket, no event loop, and no time but the numbers.
"""

import math
import random
from collections import Counter, deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Final, Literal, Protocol, TypeAlias

from chatrest._core.pace.pacer import Pace, Pacer
from chatrest._core.replies.rate_signal import Signal

RetryAfter: TypeAlias = Literal["none", "whole", "exact"]
RETRY_AFTER: Final[tuple[RetryAfter, ...]] = ("none", "whole", "exact")
POLL: Final = 0.25
"""Seconds after which a client looks again while the pacer waits for the reply to a probe."""


class Limit(Protocol):
    rate: float
    """Requests a second in the long run."""

    def wait(self, now: float) -> float:
        """Count a request and return 0 if it is accepted; else return the seconds until one would be."""


class FixedWindow:
    """A limit of `most` requests in every window of `seconds`; the first window begins at time 0."""

    def __init__(self, most: int, seconds: float) -> None:
        self.rate = most / seconds
        self._most, self._seconds = most, seconds
        self._counts: Counter[int] = Counter()

    def wait(self, now: float) -> float:
        """Count a request and return 0 if it is accepted; else return the seconds until one would be."""
        window = math.floor(now / self._seconds)
        if self._counts[window] >= self._most:
            return (window + 1) * self._seconds - now
        self._counts[window] += 1
        return 0.0


class SlidingWindow:
    """A limit of `most` requests within the last `seconds`, at any time."""

    def __init__(self, most: int, seconds: float) -> None:
        self.rate = most / seconds
        self._most, self._seconds = most, seconds
        self._times: deque[float] = deque()

    def wait(self, now: float) -> float:
        """Count a request and return 0 if it is accepted; else return the seconds until one would be."""
        while self._times and now - self._times[0] >= self._seconds:
            self._times.popleft()
        if len(self._times) >= self._most:
            return self._times[0] + self._seconds - now
        self._times.append(now)
        return 0.0


class TokenBucket:
    """A bucket that holds `burst` tokens and gains `rate` a second; one request takes one token."""

    def __init__(self, rate: float, burst: float, change: tuple[float, float] | None = None) -> None:
        """`change` is a time and the rate from then on."""
        self.rate = rate
        self._burst = self._tokens = burst
        self._filled_at = 0.0
        self._change = change

    def wait(self, now: float) -> float:
        """Count a request and return 0 if it is accepted; else return the seconds until one would be."""
        if self._change is not None and now >= self._change[0]:
            self._fill(self._change[0])
            self.rate, self._change = self._change[1], None
        self._fill(now)
        if self._tokens < 1 - 1e-9:
            return (1 - self._tokens) / self.rate
        self._tokens -= 1
        return 0.0

    def _fill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self.rate)
        self._filled_at = now


class Client:
    """One session: `readers` that each send the next request as soon as the last one was answered.

    A reader that is refused asks again after the `Retry-After`, or after a pause that doubles.
    """

    def __init__(self, simulation: "Simulation", readers: int, *, start: float, urgent: bool) -> None:
        self.pacer = Pacer(Pace())
        self.accepted: list[float] = []
        """The times at which the limit accepted a request."""
        self.refused: list[float] = []
        self._simulation = simulation
        self._urgent = urgent
        self._waiting: deque[int] = deque()
        self._wake_at = -math.inf
        for _ in range(readers):
            simulation.at(start, lambda: self._ask(0))

    def _ask(self, failures: int) -> None:
        self._waiting.append(failures)
        self._go()

    def _go(self) -> None:
        now = self._simulation.now
        while self._waiting:
            if (delay := self.pacer.delay(now, urgent=self._urgent)) > 0:
                self._wake(now + (min(delay, POLL) if self.pacer.is_probing else delay))
                return
            self.pacer.take(now, urgent=self._urgent)
            self._simulation.send(self, self._waiting.popleft())

    def _wake(self, when: float) -> None:
        if not self._simulation.now < self._wake_at <= when:
            self._wake_at = when
            self._simulation.at(when, self._go)

    def receive(self, sent: float, wait: float, failures: int) -> None:
        """Take the reply to a request that was sent at `sent`; the limit named `wait`, 0 if it accepted."""
        now, dice = self._simulation.now, self._simulation.dice
        if wait == 0:
            self.pacer.observe(now, Signal(False), sent)
            self._ask(0)
            return
        seconds = self._simulation.named(wait)
        self.pacer.observe(now, Signal(True, retry_after=seconds), sent)
        if seconds is None:
            pause = min(60.0, 4 * 2.0**failures) * (0.5 + dice.random() / 2)
        else:
            pause = seconds + dice.random() / 2
        self._simulation.at(now + pause, lambda: self._ask(failures + 1))
        self._go()


class Simulation:
    """Clients that share a limit; `latency` is the seconds from a request to its reply."""

    def __init__(
        self, limit: Limit, retry_after: RetryAfter = "none", *, latency: float = 0.002, seed: int = 1
    ) -> None:
        self.now = 0.0
        self.dice = random.Random(seed)
        self.clients: list[Client] = []
        self._limit, self._retry_after, self._latency = limit, retry_after, latency
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def add(self, readers: int = 40, *, start: float = 0.0, urgent: bool = True) -> "Simulation":
        self.clients.append(Client(self, readers, start=start, urgent=urgent))
        return self

    def at(self, when: float, act: Callable[[], None]) -> None:
        heappush(self._events, (when, next(self._numbers), act))

    def run(self, end: float) -> "Simulation":
        while self._events[0][0] <= end:
            self.now, _, act = heappop(self._events)
            act()
        return self

    def named(self, wait: float) -> float | None:
        """Return the seconds of a `Retry-After`, of whole seconds or exact; None if the limit names none."""
        if self._retry_after == "none":
            return None
        return wait if self._retry_after == "exact" else float(max(1, math.ceil(wait)))

    def send(self, client: Client, failures: int) -> None:
        sent, half = self.now, self._latency / 2

        def arrive() -> None:
            wait = self._limit.wait(self.now)
            (client.refused if wait else client.accepted).append(self.now)
            self.at(self.now + half, lambda: client.receive(sent, wait, failures))

        self.at(sent + half * (0.8 + 0.4 * self.dice.random()), arrive)

    def accepted(self, begin: float, end: float) -> list[int]:
        return [sum(begin <= time < end for time in client.accepted) for client in self.clients]

    def refused_share(self, begin: float, end: float) -> float:
        refused = sum(begin <= time < end for client in self.clients for time in client.refused)
        return refused / max(1, refused + sum(self.accepted(begin, end)))


def exchange(pacer: Pacer, now: float, *, urgent: bool = True) -> None:
    """Let a request go at `now` that is accepted at once."""
    pacer.take(now, urgent=urgent)
    pacer.observe(now, Signal(False), now)


def exchange_all(pacer: Pacer, now: float, number: int, *, urgent: bool = True) -> list[float]:
    """Return the times of `number` requests that go as soon as they may and are accepted at once."""
    times: list[float] = []
    while len(times) < number:
        while delay := pacer.delay(now, urgent=urgent):
            now += delay
        exchange(pacer, now, urgent=urgent)
        times.append(now)
    return times
