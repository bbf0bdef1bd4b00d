"""One rate for a cluster, in virtual time: use of the limit, fairness, late messages, and deaths."""

from functools import partial
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from chatrest import Pace
from chatrest.distributed.rate_coordinator import LEASE_SECONDS
from chatrest.distributed.task_pacer import CATCH_UP_SECONDS
from chatrest.emulator import RateLimit
from chatrest.emulator.limits import Limiter
from tests.distributed import rate_simulation as scenes
from tests.distributed.rate_simulation import Cluster, Delay, prompt

Bucket = partial(Limiter, "bucket")
BUCKET = RateLimit(kind="bucket", per_window=50, window=1, burst=10)
FIXED = RateLimit(kind="fixed", per_window=300, window=10)
SLIDING = RateLimit(kind="sliding", per_window=10, window=1)


def cluster(
    workers: int,
    limit: RateLimit = BUCKET,
    setup: scenes.Setup = scenes.equal,
    delay: Delay = prompt,
) -> Cluster:
    """Return a cluster at a limit whose 429s name the exact time."""
    made = Cluster(limit.limiter(), names_wait=True, message_delay=delay)
    setup(made, workers)
    return made


def use(made: Cluster, begin: float, end: float, rate: float = 50) -> tuple[float, float]:
    """Return the used share of a limit of `rate` requests a second, and the share of refused requests."""
    accepted, refused = sum(made.accepted(begin, end)), made.refused(begin, end)
    return accepted / (rate * (end - begin)), refused / (accepted + refused)


@pytest.mark.parametrize(
    ("limit", "workers"), [(BUCKET, 1), (BUCKET, 16), (FIXED, 4), (SLIDING, 1), (SLIDING, 4)]
)
def test_a_limit_is_used_and_hardly_ever_struck(limit: RateLimit, workers: int) -> None:
    used, refused = use(cluster(workers, limit).run(90), 40, 90, limit.per_window / limit.window)
    assert used >= 0.9
    assert refused <= 0.02


@pytest.mark.parametrize(
    ("setup", "delay", "least"),
    [
        (scenes.uneven, prompt, 0.93),
        (scenes.in_turn, prompt, 0.85),
        (scenes.at_random, prompt, 0.9),
        (scenes.equal, scenes.sometimes_late, 0.9),
        (scenes.equal, scenes.late, 0.5),
    ],
    ids=["uneven, clocks hours apart", "in turn", "at random", "each tenth message late", "all late"],
)
def test_changing_demand_and_late_messages_cost_use_and_no_429s(
    setup: scenes.Setup, delay: Delay, least: float
) -> None:
    used, refused = use(cluster(4, setup=setup, delay=delay).run(90), 40, 90)
    assert used >= least
    assert refused <= 0.02


@pytest.mark.parametrize(
    "setup",
    [scenes.joining, scenes.beside_another, scenes.busy_worker, scenes.busy_coordinator],
    ids=lambda setup: setup.__name__,
)
def test_workers_that_come_and_stand_still_and_other_clients_cost_little(setup: scenes.Setup) -> None:
    used, refused = use(cluster(4, setup=setup).run(180), 60, 180)
    assert used >= 0.9
    assert refused <= 0.03


@pytest.mark.parametrize("factor", [0.5, 2])
def test_a_limit_that_changes_is_learnt_again(factor: float) -> None:
    made = cluster(4).run(60)
    made.limit = Bucket(round(factor * 50), 1, 10)
    made.run(140)
    used, refused = use(made, 60, 140, factor * 50)
    assert used >= 0.85
    assert refused <= 0.02


def test_a_limit_that_is_not_known_is_used_from_the_first_minute_on() -> None:
    made = Cluster(RateLimit(kind="bucket", per_window=100, window=1, burst=20).limiter())
    made.latency = 0.1
    for _ in range(4):
        made.add(lambda _: 128)
    used, refused = use(made.run(60), 0, 60, 100)
    assert used >= 0.92
    assert refused <= 0.02


def test_the_rate_is_shared_equally_and_unused_shares_go_to_other_workers() -> None:
    accepted = cluster(4).run(60).accepted(20, 60)
    assert min(accepted) >= 0.95 * max(accepted)
    made = Cluster(BUCKET.limiter(), names_wait=True)
    made.add(lambda now: 40 if now < 30 else 0)
    made.add(lambda _: 40)
    made.run(60)
    assert made.accepted(31, 60)[1] >= 0.95 * 50 * 29


@pytest.mark.parametrize(("dies", "seconds"), [(True, LEASE_SECONDS + 0.5), (False, 0.5)])
def test_the_share_of_a_lost_worker_is_redistributed(dies: bool, seconds: float) -> None:
    made = Cluster(Bucket(10_000, 1, 100), pace=Pace(rate=50, window=1))  # the limit strikes nobody
    first, other = made.add(), made.add()
    made.run(10)
    if dies:
        first.is_alive = False
    else:
        first.end()
    made.run(30)
    assert sum(10 + seconds <= time < 30 for time in other.accepted) >= 0.97 * 50 * (20 - seconds)


def test_the_probe_of_a_worker_that_dies_goes_to_another_one() -> None:
    made = Cluster(Bucket(10_000, 1, 10_000), message_delay=lambda _: 0.005)
    scenes.equal(made, 4)
    made.run(10)
    made.limit = Bucket(1, 10, 1)  # nobody says how long to wait
    made.run(12)
    for worker in list(made.workers.values())[:3]:
        worker.is_alive = False
    made.limit = Bucket(10_000, 1, 10_000)
    made.run(12 + 10)
    assert sum(made.accepted(20, 22)) > 0


def test_workers_of_a_dead_coordinator_stop_and_those_of_the_next_one_continue() -> None:
    made = cluster(4).run(30)
    made.is_led = False
    made.run(30 + LEASE_SECONDS)
    made.run(40)
    assert sum(made.accepted(30 + LEASE_SECONDS, 40)) == 0
    made.begin_again()
    made.run(80)
    assert use(made, 60, 80)[0] >= 0.9


WINDOWS = (0.5, 1.0, 5.0)


def assert_rate_kept(made: Cluster, rate: float, workers: int) -> None:
    """Each worker may be woken late, and its first request may be ahead."""
    times = sorted(time for worker in made.workers.values() for time in worker.accepted)
    for seconds in WINDOWS:
        first = 0
        for place, time in enumerate(times):
            while times[first] < time - seconds:
                first += 1
            assert place - first + 1 <= rate * (seconds + CATCH_UP_SECONDS) + workers + 1, (time, seconds)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rate=st.sampled_from([4, 20, 100]),
    workers=st.integers(1, 8),
    lateness=st.sampled_from([(0.005,), (0.005, 0.005, 0.3, 1.5), (0.2,), (0.0, 4.0)]),
    lost=st.sampled_from([0.0, 0.2]),
    coordinator_dies=st.booleans(),
)
def test_the_rate_is_never_exceeded_whatever_messages_are_lost(
    seed: int, rate: int, workers: int, lateness: tuple[float, ...], lost: float, coordinator_dies: bool
) -> None:
    dice = Random(seed)
    made = Cluster(
        Bucket(10_000, 1, 10_000), pace=Pace(rate=rate, window=1), seed=seed, lost=lost,
        message_delay=lambda dice: dice.choice(lateness),
    )  # fmt: skip
    scenes.at_random(made, workers)
    for worker in list(made.workers.values())[1:]:
        made.at(dice.uniform(0, 25), lambda each=worker: setattr(each, "is_alive", False))
    made.at(15, lambda: made.add(clock=-7200) and None)
    if coordinator_dies:
        made.at(12, lambda: setattr(made, "is_led", False))
        made.at(13, lambda: made.begin_again())
    made.run(25)
    assert_rate_kept(made, rate, 2 * (workers + 1))


def test_workers_that_start_together_never_exceed_the_rate() -> None:
    made = Cluster(Bucket(10_000, 1, 10_000), pace=Pace(rate=100, window=1))
    for _ in range(200):
        made.add(lambda now: int(now < 2 or now >= 10))  # each idle from 2 s to 10 s
    made.run(14)
    assert all(sum(made.accepted(second, second + 1)) <= 110 for second in (0, 1, 10, 11, 12, 13))


def test_a_429_stops_every_worker_within_a_messages_time() -> None:
    made = Cluster(Bucket(10_000, 1, 10_000), names_wait=True, message_delay=lambda _: 0.005)
    scenes.equal(made, 8)
    made.run(10)
    made.limit = Bucket(1, 10, 1)  # from now on one request in ten seconds
    made.run(12)
    refused = sorted(time for worker in made.workers.values() for time in worker.refused)
    assert refused
    assert refused[-1] - refused[0] <= 0.06


def test_messages_are_few() -> None:
    made = cluster(16).run(30)
    before = made.messages
    made.run(40)
    assert (made.messages - before) / 10 / 16 <= 10  # to a worker and back, four times a second
    idle = cluster(0)
    idle.add(lambda now: 5 if now < 10 else 0)
    idle.run(20)
    before = idle.messages
    idle.run(60)
    assert idle.messages == before
