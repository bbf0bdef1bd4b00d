"""The pacer against limits of every kind: the share that is used, and the share of refused requests.

`rate_limits` has the limits and the clients; `benchmarks.pace` has the whole matrix.
"""

from collections.abc import Callable
from typing import Final

import pytest

from tests.core.pace.rate_limits import (
    RETRY_AFTER,
    FixedWindow,
    Limit,
    RetryAfter,
    Simulation,
    SlidingWindow,
    TokenBucket,
)

EXTREMES: Final[tuple[RetryAfter, ...]] = ("none", "whole")
"""Headers with the least information, and those that mislead most; "exact" is between them."""


LIMITS: Final[dict[str, Callable[[], Limit]]] = {
    "bucket 100/s, burst 20": lambda: TokenBucket(100, 20),
    "bucket 5/s, burst 5": lambda: TokenBucket(5, 5),
    "bucket 300/s, burst 300": lambda: TokenBucket(300, 300),
    "bucket 500/min, burst 500": lambda: TokenBucket(500 / 60, 500),
    "fixed 100 in 1 s": lambda: FixedWindow(100, 1),
    "fixed 50 in 10 s": lambda: FixedWindow(50, 10),
    "fixed 500 in 10 s": lambda: FixedWindow(500, 10),
    "fixed 500 in 60 s": lambda: FixedWindow(500, 60),
    "fixed 6000 in 60 s": lambda: FixedWindow(6000, 60),
    "sliding 400 in 5 s": lambda: SlidingWindow(400, 5),
    "sliding 1200 in 60 s": lambda: SlidingWindow(1200, 60),
}
TIGHT_LIMITS: Final[dict[str, Callable[[], Limit]]] = {
    "bucket 20/s, burst 1": lambda: TokenBucket(20, 1),
    "sliding 10 in 1 s": lambda: SlidingWindow(10, 1),
}


def shares(limit: Limit, retry_after: RetryAfter, latency: float = 0.002) -> tuple[float, float]:
    """Return the share of a limit that is used, and the share of refused requests, from 60 s on.

    Limits of many requests a second are learnt sooner and cost more of the test's time: they end at 120 s.
    """
    end = 120 if limit.rate > 50 else 240
    simulation = Simulation(limit, retry_after, latency=latency).add().run(end)
    return sum(simulation.accepted(60, end)) / ((end - 60) * limit.rate), simulation.refused_share(60, end)


@pytest.mark.parametrize("retry_after", EXTREMES)
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_a_limit_is_used_and_hardly_ever_struck(limit: Callable[[], Limit], retry_after: RetryAfter) -> None:
    used, refused = shares(limit(), retry_after)
    assert used >= 0.9
    assert refused <= 0.02


@pytest.mark.parametrize("retry_after", RETRY_AFTER)
@pytest.mark.parametrize("limit", TIGHT_LIMITS.values(), ids=TIGHT_LIMITS)
def test_a_limit_without_tolerance_is_nearly_used(
    limit: Callable[[], Limit], retry_after: RetryAfter
) -> None:
    """Such a limit refuses a request that the network delivers a moment too soon after the one before.

    Measured are 90 to 98 %. A `Retry-After` of a whole second costs as much as twenty or ten requests.
    """
    used, refused = shares(limit(), retry_after)
    assert used >= 0.86
    assert refused <= 0.02


@pytest.mark.parametrize("retry_after", EXTREMES)
@pytest.mark.parametrize(
    "name", ["bucket 100/s, burst 20", "fixed 100 in 1 s", "fixed 6000 in 60 s", "fixed 50 in 10 s"]
)
def test_a_limit_is_used_over_a_slow_network(name: str, retry_after: RetryAfter) -> None:
    used, refused = shares(LIMITS[name](), retry_after, latency=0.2)
    assert used >= 0.9
    assert refused <= 0.025


@pytest.mark.parametrize("retry_after", EXTREMES)
@pytest.mark.parametrize("name", ["bucket 100/s, burst 20", "sliding 400 in 5 s", "fixed 100 in 1 s"])
def test_a_very_slow_network_costs_a_part_of_the_limit(name: str, retry_after: RetryAfter) -> None:
    """A change of the rate shows its effect two seconds later, so trials are few. Measured are 77 to 97 %."""
    limit = LIMITS[name]()
    simulation = Simulation(limit, retry_after, latency=2.0).add(400).run(150)
    assert sum(simulation.accepted(60, 150)) >= 0.7 * 90 * limit.rate
    assert simulation.refused_share(60, 150) <= 0.03


def test_a_sliding_window_is_learnt_with_few_429s_after_a_ramp() -> None:
    """Its requests follow the ramp of a window before: a short run between 429s is no limit."""
    simulation = Simulation(SlidingWindow(1000, 10), latency=0.1).add(128, urgent=False).run(60)
    assert sum(simulation.accepted(0, 60)) >= 0.9 * 6000
    assert simulation.refused_share(0, 60) <= 0.045


@pytest.mark.parametrize("retry_after", EXTREMES)
@pytest.mark.parametrize("limit", [(100, 10), (10, 100)])
def test_a_limit_that_changes_to_a_tenth_or_tenfold_is_learnt_again(
    limit: tuple[float, float], retry_after: RetryAfter
) -> None:
    before, after = limit
    simulation = Simulation(TokenBucket(before, 20, change=(60, after)), retry_after).add().run(240)
    assert sum(simulation.accepted(180, 240)) >= 0.9 * 60 * after
    assert simulation.refused_share(180, 240) <= 0.02


@pytest.mark.parametrize("retry_after", EXTREMES)
@pytest.mark.parametrize("start", [0.0, 50.0])
def test_two_clients_share_a_bucket(start: float, retry_after: RetryAfter) -> None:
    simulation = Simulation(TokenBucket(100, 20), retry_after).add().add(start=start).run(240)
    accepted = simulation.accepted(120, 240)
    assert sum(accepted) >= 0.9 * 12_000
    assert min(accepted) >= max(accepted) / 3
    assert simulation.refused_share(120, 240) <= 0.02


@pytest.mark.parametrize("retry_after", EXTREMES)
@pytest.mark.parametrize("limit", ["fixed 6000 in 60 s", "sliding 400 in 5 s"])
def test_two_clients_that_begin_together_share_a_window(limit: str, retry_after: RetryAfter) -> None:
    simulation = Simulation(LIMITS[limit](), retry_after).add().add().run(180)
    accepted = simulation.accepted(60, 180)
    assert min(accepted) >= max(accepted) / 3
    assert simulation.refused_share(60, 180) <= 0.02
