"""One rate for a cluster, in virtual time: use of the limit, fairness, and the death of either side."""

import asyncio
from random import Random

import pytest

from benchmarks import lease, virtual_time
from benchmarks.lease_simulation import Cluster, Delay, prompt
from chatrest import Pace
from chatrest.core.pace.pacer import Signal
from chatrest.distributed.rate_book import LeaseBook
from chatrest.distributed.rate_lease import LOST, LeasedPacer
from chatrest.distributed.rate_messages import LEASE_SECONDS, Grant, RateReport
from chatrest.distributed.rate_participant import Participant
from chatrest.distributed.rate_reporter import Reporter
from chatrest.distributed.rate_shares import shares
from chatrest.emulator import RateLimit
from chatrest.emulator.limits import Bucket
from chatrest.errors import ChatRestError

BUCKET = RateLimit(kind="bucket", per_window=50, window=1, burst=10)


def cluster(
    workers: int,
    limit: RateLimit = BUCKET,
    setup: lease.Setup = lease.equal,
    delay: Delay = prompt,
) -> Cluster:
    """Return a cluster at a limit whose 429s name the exact time."""
    made = Cluster(limit.limiter(), "exact", message_delay=delay)
    setup(made, workers)
    return made


def use(made: Cluster, begin: float, end: float, rate: float = 50) -> tuple[float, float]:
    """Return the used share of a limit of `rate` requests a second, and the share of refused requests."""
    accepted, refused = sum(made.accepted(begin, end)), made.refused(begin, end)
    return accepted / (rate * (end - begin)), refused / (accepted + refused)


FIXED = RateLimit(kind="fixed", per_window=300, window=10)
SLIDING = RateLimit(kind="sliding", per_window=10, window=1)


@pytest.mark.parametrize(
    ("limit", "workers"), [(BUCKET, 1), (BUCKET, 16), (FIXED, 4), (SLIDING, 1), (SLIDING, 4)]
)
def test_a_limit_is_used_and_hardly_ever_struck(limit: RateLimit, workers: int) -> None:
    used, refused = use(cluster(workers, limit).run(100), 40, 100, limit.per_window / limit.window)
    assert used >= 0.9
    assert refused <= 0.02


@pytest.mark.parametrize(
    ("setup", "delay", "least"),
    [
        (lease.uneven, prompt, 0.9),
        (lease.in_turn, prompt, 0.8),
        (lease.at_random, prompt, 0.85),
        (lease.equal, lease.sometimes_late, 0.8),
        (lease.equal, lease.late, 0.6),
    ],
    ids=[
        "uneven, clocks hours apart",
        "in turn",
        "at random",
        "each tenth message late",
        "all messages late",
    ],
)
def test_changing_demand_and_late_messages_cost_use_and_no_429s(
    setup: lease.Setup, delay: Delay, least: float
) -> None:
    used, refused = use(cluster(4, setup=setup, delay=delay).run(100), 40, 100)
    assert used >= least
    assert refused <= 0.02


def test_workers_that_want_all_get_the_same() -> None:
    accepted = cluster(4).run(60).accepted(20, 60)
    assert min(accepted) >= 0.9 * max(accepted)


def test_what_one_worker_does_not_want_another_one_gets() -> None:
    made = Cluster(BUCKET.limiter(), "exact")
    made.add(lambda now: 40 if now < 30 else 0)
    made.add(lambda _: 40)
    made.run(60)
    assert made.accepted(31, 60)[1] >= 0.9 * 50 * 29


def test_a_dead_workers_share_is_handed_on_when_its_lease_has_surely_ended() -> None:
    made = Cluster(Bucket(10_000, 1, 100), pace=Pace(rate=50, window=1))  # the limit strikes nobody
    doomed, other = made.add(), made.add()
    made.run(10)
    doomed.is_alive = False
    made.run(10 + LEASE_SECONDS)
    assert sum(time >= 10 for time in other.accepted) <= 1.1 * 25 * LEASE_SECONDS
    made.run(30)
    assert sum(20 <= time < 30 for time in other.accepted) >= 0.95 * 50 * 10


def test_workers_of_a_dead_coordinator_stop_when_their_leases_end() -> None:
    made = cluster(4).run(30)
    made.is_led = False
    made.run(30 + LEASE_SECONDS + 0.1)
    assert sum(made.accepted(30, made.now)) > 0
    made.run(60)
    assert sum(made.accepted(30 + LEASE_SECONDS + 0.1, 60)) == 0


@pytest.mark.parametrize("seed", range(2))
def test_the_given_rate_is_kept_whatever_demand_messages_and_workers_do(seed: int) -> None:
    rate, workers, dice = 20, 8, Random(seed)
    made = Cluster(
        Bucket(10_000, 1, 10_000), pace=Pace(rate=rate, window=1), seed=seed,
        message_delay=lambda dice: dice.choice((0.005, 0.005, 0.3, 1.5)),
    )  # fmt: skip
    lease.at_random(made, workers)
    for worker in list(made.workers.values())[1:]:
        made.at(dice.uniform(0, 60), lambda each=worker: setattr(each, "is_alive", False))
    made.at(50, lambda: made.add() and None)
    made.run(60)
    times = sorted(time for worker in made.workers.values() for time in worker.accepted)
    assert len(times) >= 0.3 * rate * 60
    for begin in range(60):  # each worker may be one slot ahead of an even spread
        assert sum(begin <= time < begin + 1 for time in times) <= rate + workers
        assert sum(begin <= time < begin + 10 for time in times) <= 10 * rate + workers


def test_a_429_stops_every_worker_within_a_messages_time() -> None:
    made = Cluster(Bucket(10_000, 1, 10_000), "exact", message_delay=lambda _: 0.005)
    lease.equal(made, 8)
    made.run(10)
    made.limit = Bucket(1, 10, 1)  # from now on one request in ten seconds
    made.run(12)
    refused = sorted(time for worker in made.workers.values() for time in worker.refused)
    assert refused
    assert refused[-1] - refused[0] <= 0.05


def test_shares_are_fair_and_use_all_of_the_rate() -> None:
    inf = float("inf")
    assert shares(90, {"a": 10, "b": inf, "c": inf}) == {"a": 10, "b": 40, "c": 40}
    assert shares(90, {"a": 10, "b": 20}) == {"a": 40, "b": 50}
    assert shares(90, {"a": 80, "b": inf}) == {"a": 45, "b": 45}
    assert shares(90, {}) == {}


# ── the pacer of one worker ──


def test_a_worker_pauses_after_a_429_until_a_grant_that_was_made_after_it() -> None:
    pacer = LeasedPacer(lambda: None)
    pacer.receive(Grant(1, 1, 10.0), 0.0)
    pacer.take(0.0, urgent=False)
    pacer.observe(0.1, Signal(True), 0.0)
    assert pacer.usage(0.2, 7).refusals[0].grant == 1
    pacer.receive(Grant(2, 1, 10.0, seen=6), 0.3)
    assert pacer.rate is None
    pacer.receive(Grant(3, 1, 10.0, seen=7), 0.4)
    assert pacer.rate == 10.0
    assert not pacer.receive(Grant(2, 1, 99.0, seen=7), 0.5)
    assert pacer.rate == 10.0


def test_a_probe_is_one_request_and_is_reported() -> None:
    pacer = LeasedPacer(lambda: None)
    pacer.receive(Grant(1, 1, 0.0, is_probe=True), 0.0)
    assert pacer.delay(0.0, urgent=False) == 0
    pacer.take(0.0, urgent=False)
    assert pacer.delay(0.0, urgent=False) > 0
    pacer.observe(0.1, Signal(False), 0.0)
    assert pacer.usage(0.2, 1).probe is True
    pacer.receive(Grant(2, 1, 0.0, is_probe=True), 1.0)
    assert pacer.usage(1.5, 2).probe is None
    assert pacer.usage(2.5, 3).probe is False  # nobody wanted to send it in time


def test_a_request_does_not_wait_for_ever_for_a_coordinator() -> None:
    pacer = LeasedPacer(lambda: None)
    assert 0 < pacer.delay(0.0, urgent=False) < 1
    assert 0 < pacer.delay(LOST, urgent=False) < 1
    with pytest.raises(ChatRestError, match="has not answered for 60 s"):
        pacer.delay(LOST + 0.1, urgent=False)


def test_each_rate_class_has_leases_of_its_own() -> None:
    book, worker = LeaseBook(Pace(rate=600)), Participant("worker", lambda: None)
    core, standard = worker.pacer("core"), worker.pacer("standard")
    for step in range(3):
        core.delay(step, urgent=False)
        standard.delay(step, urgent=False)
        book.hear(worker.report(step), step)
        for leased in book.leases(step):
            worker.receive(leased, step)
    assert (core.rate, standard.rate) == (10.0, 10.0)
    core.take(3, urgent=False)
    core.observe(3, Signal(True, retry_after=60), 3)
    book.hear(worker.report(3), 3)
    for leased in book.leases(3):
        worker.receive(leased, 3)
    assert (core.rate, standard.rate) == (None, 10.0)


def test_reports_end_a_minute_after_the_coordinator() -> None:
    reports: list[RateReport] = []
    lost: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        reporter = Reporter("worker", reports.append, loop, loop.time, lambda: lost.append(loop.time()))
        reporter.participant.pacer("standard")
        reporter.start()
        await asyncio.sleep(200)

    virtual_time.run(main())
    [at] = lost
    assert LOST <= at <= LOST + 2
    assert 60 <= len(reports) <= 75  # one a second for a process that sends nothing
