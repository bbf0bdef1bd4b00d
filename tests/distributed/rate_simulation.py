"""A cluster whose workers share one rate by shares, in virtual time: no socket, no Dask."""

import math
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final, TypeAlias

from chatrest._core.pace.pacer import DOCUMENTED_RATES, GatePacer, Pace, Pacer
from chatrest._core.replies.rate_signal import Signal
from chatrest.distributed.rate_coordinator import GRANT_SECONDS, Grant, RateCoordinator, RateReport
from chatrest.distributed.task_pacer import TaskPacer
from chatrest.emulator.limits import Limiter

Demand: TypeAlias = Callable[[float], int]
"""The number of readers of a worker at a time."""
Delay: TypeAlias = Callable[[Random], float]
"""The seconds that a message is under way."""

ACT_EVERY: Final = GRANT_SECONDS
"""Seconds between two looks of the coordinator, at the most."""
ACT_SOONEST: Final = 0.02
"""Seconds after which it looks because a report has come."""
REPORT_EVERY: Final = 0.25
"""Seconds after which a worker without a message reports by itself."""
_POLL: Final = 0.25


def prompt(dice: Random) -> float:
    return 0.002 + 0.008 * dice.random()


class SimulatedWorker:
    """A worker whose readers each send the next request as soon as the last one was answered."""

    def __init__(
        self, cluster: "Cluster", name: str, demand: Demand, clock: float, pacer: GatePacer | None = None
    ) -> None:
        self.accepted: list[float] = []
        """The times at which the limit accepted a request."""
        self.refused: list[float] = []
        self.is_alive = True
        self._cluster, self._name, self._demand, self._clock = cluster, name, demand, clock
        self._shared = self._new_pacer()
        self._pacer: GatePacer = pacer or self._shared
        self._waiting: deque[int] = deque()
        self._readers = 0
        self._wake_at = self._alarm_at = self._reported_at = self._idle_until = -math.inf
        cluster.at(cluster.now, self._follow_demand)
        if pacer is None:
            cluster.at(cluster.now, self._report_on_time)

    def _new_pacer(self) -> TaskPacer:
        dice = self._cluster.dice
        return TaskPacer(self._name, "standard", lambda _: len(self._waiting), self._alarm, dice.random())

    @property
    def now(self) -> float:
        return self._cluster.now + self._clock

    def begin_again(self) -> None:
        self._pacer = self._shared = self._new_pacer()
        self._go()

    def end(self) -> None:
        """End as a part does, which says so."""
        self._cluster.post(self._shared.report(self.now, is_last=True))
        self.is_alive = False

    def stand_still(self, seconds: float) -> None:
        """Do nothing for so many seconds, as a process that gets no CPU time."""
        self._idle_until = self._cluster.now + seconds
        self._cluster.at(self._idle_until, self._go)

    @property
    def _is_idle(self) -> bool:
        return not self.is_alive or self._cluster.now < self._idle_until

    def receiver(self) -> Callable[[Grant], None]:
        pacer = self._shared

        def receive(grant: Grant) -> None:
            if self._cluster.now < self._idle_until:
                self._cluster.at(self._idle_until, lambda: receive(grant))
            elif self.is_alive and pacer is self._shared and pacer.receive(grant, self.now):
                self._report()
                self._go()

        return receive

    def _follow_demand(self) -> None:
        wanted = self._demand(self._cluster.now)
        while self._readers < wanted:
            self._readers += 1
            self._waiting.append(0)
        self._go()
        self._cluster.at(self._cluster.now + 0.1, self._follow_demand)

    def _report_on_time(self) -> None:
        if self.is_alive:
            if self._shared.is_busy and self._cluster.now - self._reported_at >= REPORT_EVERY:
                self._report()
            self._cluster.at(self._cluster.now + REPORT_EVERY, self._report_on_time)

    def _alarm(self) -> None:
        if self._alarm_at <= self._cluster.now:
            self._alarm_at = self._cluster.now + 0.01
            self._cluster.at(self._alarm_at, self._report)

    def _report(self) -> None:
        if not self._is_idle:
            self._reported_at = self._cluster.now
            self._cluster.post(self._shared.report(self.now))

    def _go(self) -> None:
        while self._waiting and not self._is_idle:
            if self._readers > self._demand(self._cluster.now):
                self._readers -= 1
                self._waiting.pop()
                continue
            if (delay := self._pacer.delay(self.now, urgent=False)) > 0:
                self._wake(self._cluster.now + min(delay, _POLL))
                return
            self._pacer.take(self.now, urgent=False)
            self._send(self._waiting.popleft())

    def _wake(self, when: float) -> None:
        if not self._cluster.now < self._wake_at <= when:
            self._wake_at = when
            self._cluster.at(when, self._go)

    def _send(self, failures: int) -> None:
        cluster, sent = self._cluster, self.now

        def arrive() -> None:
            wait = cluster.ask()
            (self.refused if wait else self.accepted).append(cluster.now)
            cluster.at(cluster.now + cluster.latency / 2, lambda: self._answer(sent, wait, failures))

        cluster.at(cluster.now + cluster.latency * (0.4 + 0.2 * cluster.dice.random()), arrive)

    def _answer(self, sent: float, wait: float, failures: int) -> None:
        if not self.is_alive:
            return
        cluster, pause = self._cluster, 0.0
        if wait == 0:
            self._pacer.observe(self.now, Signal(False), sent)
        else:
            seconds = wait if cluster.names_wait else None
            self._pacer.observe(self.now, Signal(True, retry_after=seconds), sent)
            backoff = min(60.0, 4 * 2.0**failures) * (0.5 + cluster.dice.random() / 2)
            pause = backoff if seconds is None else seconds + cluster.dice.random() / 2
        cluster.at(cluster.now + pause, lambda: self._ask(0 if wait == 0 else failures + 1))

    def _ask(self, failures: int) -> None:
        self._waiting.append(failures)
        self._go()


class Cluster:
    """A coordinator and its workers, which share a limit.

    `message_delay` gives the seconds that a message is under way.
    """

    def __init__(
        self,
        limit: Limiter,
        *,
        names_wait: bool = False,
        message_delay: Delay = prompt,
        pace: Pace | None = None,
        seed: int = 1,
        lost: float = 0.0,
    ) -> None:
        """`lost` is the share of the messages that never arrive; `names_wait`: 429s name the exact time."""
        self.now = 0.0
        self.dice = Random(seed)
        self.workers: dict[str, SimulatedWorker] = {}
        self._pace, self._lost = pace or Pace(), lost
        self.coordinator = RateCoordinator(self._pace, DOCUMENTED_RATES["standard"])
        self.messages = 0
        """The messages that were sent, in both directions."""
        self.is_led = True
        """False once the coordinator is dead."""
        self.limit, self.latency = limit, 0.002
        """The limit, and the seconds until a reply; both may be changed at any time."""
        self.names_wait, self._message_delay = names_wait, message_delay
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count()
        self._act_at = 0.0
        self._idle_until = -math.inf
        self.at(0.0, self._act)

    def add(self, demand: Demand = lambda _: 40, *, clock: float = 0.0) -> SimulatedWorker:
        """Let a further worker begin now; its clock differs by `clock` seconds."""
        name = f"worker-{len(self.workers)}"
        self.workers[name] = SimulatedWorker(self, name, demand, clock)
        return self.workers[name]

    def add_alone(self, demand: Demand = lambda _: 40) -> SimulatedWorker:
        """Let a session of one machine with its own pacer begin now."""
        name = f"worker-{len(self.workers)}"
        self.workers[name] = SimulatedWorker(self, name, demand, 0.0, Pacer(Pace()))
        return self.workers[name]

    def at(self, when: float, act: Callable[[], object]) -> None:
        heappush(self._events, (when, next(self._numbers), act))

    def stand_still(self, seconds: float) -> None:
        """Let the coordinator do nothing for so many seconds; messages wait."""
        self._idle_until = self.now + seconds

    def run(self, end: float) -> "Cluster":
        while self._events[0][0] <= end:
            self.now, _, act = heappop(self._events)
            act()
        self.now = end
        return self

    def ask(self) -> float:
        """Bring a request to the limit; return 0 if it accepts, else the seconds until it would."""
        verdict = self.limit.allow(self.now)
        return 0.0 if verdict.allowed else max(1e-9, verdict.wait)

    def post(self, report: RateReport) -> None:
        self.messages += 1
        coordinator = self.coordinator
        self._deliver(lambda: self._receive(report, coordinator))

    def begin_again(self) -> None:
        self.coordinator = RateCoordinator(self._pace, DOCUMENTED_RATES["standard"])
        self.is_led, self._act_at = True, self.now
        for worker in self.workers.values():
            worker.begin_again()
        self._act()

    def _deliver(self, act: Callable[[], None]) -> None:
        if self.dice.random() >= self._lost:
            self.at(self.now + self._message_delay(self.dice), act)

    def _receive(self, report: RateReport, coordinator: RateCoordinator) -> None:
        if self.now < self._idle_until:
            self.at(self._idle_until, lambda: self._receive(report, coordinator))
        elif (
            self.is_led
            and coordinator is self.coordinator
            and self.coordinator.receive(report, self.now)
            and self._act_at > self.now + ACT_SOONEST
        ):
            self._act_at = self.now + ACT_SOONEST
            self.at(self._act_at, self._act)

    def _act(self) -> None:
        if not self.is_led or self.now < self._act_at:
            return
        if self.now < self._idle_until:
            self._act_at = self._idle_until
            self.at(self._act_at, self._act)
            return
        for worker, grants in self.coordinator.divide(self.now).items():
            self.messages += 1
            receive = self.workers[worker].receiver()
            self._deliver(lambda r=receive, each=grants: r(each))  # type: ignore[misc]
        self._act_at = self.now + ACT_EVERY
        self.at(self._act_at, self._act)

    def accepted(self, begin: float, end: float) -> list[int]:
        return [sum(begin <= time < end for time in each.accepted) for each in self.workers.values()]

    def refused(self, begin: float, end: float) -> int:
        return sum(begin <= time < end for each in self.workers.values() for time in each.refused)


# ── scenes: the demand of the workers, their pauses, and how late their messages are ──

_HOURS: Final = 3600.0
_DRAWN: Final = 120
"""Numbers of readers that are drawn for a worker."""

Setup = Callable[[Cluster, int], None]


def equal(cluster: Cluster, workers: int) -> None:
    for _ in range(workers):
        cluster.add()


def uneven(cluster: Cluster, workers: int) -> None:
    """40 readers on one worker and one reader on each other; clocks that differ by hours."""
    for place in range(workers):
        cluster.add(lambda _, own=place: 40 if own == 0 else 1, clock=5 * _HOURS * place)  # type: ignore[misc]


def in_turn(cluster: Cluster, workers: int) -> None:
    """40 readers on one worker at a time, for 5 s each."""
    for place in range(workers):
        cluster.add(lambda now, own=place: 40 if int(now / 5) % workers == own else 0)  # type: ignore[misc]


def at_random(cluster: Cluster, workers: int) -> None:
    """0 to 40 readers on each worker, drawn again every 2 s; always 5 on one of them."""
    for place in range(workers):
        drawn = [Random(f"{place}/{number}").choice((0, 0, 1, 5, 40)) for number in range(_DRAWN)]
        cluster.add(lambda now, own=place, drawn=drawn: max(5 * (own == 0), drawn[int(now / 2) % _DRAWN]))  # type: ignore[misc]


def joining(cluster: Cluster, workers: int) -> None:
    """Equal demand; half of the workers begin at 120 s."""
    equal(cluster, workers - workers // 2)
    for _ in range(workers // 2):
        cluster.at(120, cluster.add)


def beside_another(cluster: Cluster, workers: int) -> None:
    """Equal demand; from 120 s on a session of one machine calls without pause, too."""
    equal(cluster, workers)
    cluster.at(120, cluster.add_alone)


def _stall(cluster: Cluster, stand_still: Callable[[float], None], longest: float, pause: float) -> None:
    """Let something pause for up to `longest` seconds, again and again."""
    seconds = longest * cluster.dice.random()
    stand_still(seconds)
    when = cluster.now + seconds + pause * cluster.dice.random()
    cluster.at(when, lambda: _stall(cluster, stand_still, longest, pause))


def busy_coordinator(cluster: Cluster, workers: int) -> None:
    """Equal demand; half of the time the coordinator gets no CPU time, for up to a second."""
    equal(cluster, workers)
    cluster.at(1, lambda: _stall(cluster, cluster.stand_still, 1.0, 1.0))


def busy_worker(cluster: Cluster, workers: int) -> None:
    """Equal demand; one worker gets no CPU time for up to 5 s, half of the time."""
    equal(cluster, workers)
    first = next(iter(cluster.workers.values()))
    cluster.at(1, lambda: _stall(cluster, first.stand_still, 5.0, 5.0))


def late(dice: Random) -> float:
    """Return about a second, in which a message is under way."""
    return 0.9 + 0.2 * dice.random()


def sometimes_late(dice: Random) -> float:
    """Return a second for each tenth message, else 5 ms."""
    return 1.0 if dice.random() < 0.1 else 0.005
