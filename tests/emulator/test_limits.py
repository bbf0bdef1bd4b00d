"""Rate limits: the pure counters by properties, and what a client sees of them."""

from collections import Counter
from functools import reduce
from operator import add
from typing import Any

import pytest
from aiohttp import ClientSession
from hypothesis import given, strategies as st

from chatrest.emulator import Emulator, RateLimit
from chatrest.emulator.limits import LimitCounter, Limiter, LimitKind, Verdict, limit_headers
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over

STEPS = st.lists(st.one_of(st.just(0.0), st.floats(0, 3), st.floats(0, 150)), min_size=1, max_size=300)
LIMITS = st.integers(1, 12)
WINDOWS = st.sampled_from([0.7, 1.0, 60.0])


def run(limiter: Limiter, steps: list[float], begin: float = 1.7e9) -> tuple[list[float], list[Verdict]]:
    now, allowed, verdicts = begin, [], []
    for step in steps:
        now += step
        verdict = limiter.allow(now)
        verdicts.append(verdict)
        if verdict.allowed:
            allowed.append(now)
    return allowed, verdicts


@given(STEPS, LIMITS, WINDOWS, st.integers(1, 20))
def test_no_kind_allows_more_than_its_limit(
    steps: list[float], limit: int, window: float, burst: int
) -> None:
    allowed, verdicts = run(RateLimit(per_window=limit, window=window).limiter(), steps)
    assert max(Counter(at // window for at in allowed).values()) <= limit
    assert all(0 <= verdict.remaining < limit or not verdict.allowed for verdict in verdicts)
    allowed, _ = run(RateLimit(kind="sliding", per_window=limit, window=window).limiter(), steps)
    assert all(last - first >= window for first, last in zip(allowed, allowed[limit:], strict=False))
    bucket = RateLimit(kind="bucket", per_window=limit, window=window, burst=burst)
    allowed, _ = run(bucket.limiter(), steps)
    for first, begin in enumerate(allowed):
        for count, at in enumerate(allowed[first:], 1):
            assert count <= burst + limit * (at - begin) / window + 1e-5


@given(st.sampled_from(["fixed", "sliding", "bucket"]), STEPS, LIMITS, WINDOWS)
def test_remaining_and_wait_are_right(kind: LimitKind, steps: list[float], limit: int, window: float) -> None:
    limiter = RateLimit(kind=kind, per_window=limit, window=window).limiter()
    _, verdicts = run(limiter, steps)
    now, last = reduce(add, steps, 1.7e9), verdicts[-1]
    more = [limiter.allow(now).allowed for _ in range(last.remaining + 1)]
    assert more == [True] * last.remaining + [False]
    refused = limiter.allow(now)
    assert not refused.allowed
    assert 0 < refused.wait <= window + 1e-5
    assert limiter.allow(now + refused.wait + 1e-5).allowed


def test_fixed_windows_begin_at_multiples_of_the_length() -> None:
    limiter = RateLimit(per_window=1, window=60).limiter()
    assert limiter.allow(119.0) == (True, 1, 0, 1.0)
    assert limiter.allow(119.5) == (False, 1, 0, 0.5)
    assert limiter.allow(120.0).allowed


def test_a_sliding_window_is_over_after_its_length() -> None:
    limiter = RateLimit(kind="sliding", per_window=1, window=60).limiter()
    assert [limiter.allow(now).allowed for now in (30.0, 89.5, 90.0)] == [True, False, True]


def test_classes_are_counted_apart() -> None:
    limit = RateLimit(per_window=1)
    limited = LimitCounter(limit)
    verdicts = [limited.allow(limit, name, 7.0).allowed for name in ("core", "standard", "core")]
    assert verdicts == [True, True, False]
    assert limited.allow(limit, "core", 61.0).allowed
    assert (limited.allowed, limited.refused) == (3, 1)


def test_headers_of_accepted_requests_and_of_refusals_without_a_wait() -> None:
    allowed = Verdict(True, 500, 7, 0.0)
    assert limit_headers(allowed, "b", 1000.0) == {"X-Rate-Limit": "500", "X-Rate-Limit-Remaining": "7"}
    assert not limit_headers(allowed, "a", 1.0)
    assert limit_headers(Verdict(False, 1, 0, 0.0), "retry-after", 1.0) == {"Retry-After": "1"}


@loop_over(
    "wrong",
    [
        {"kind": "other"}, {"per_window": 0}, {"per_window": True}, {"window": 0}, {"headers": "c"},
        {"burst": 5}, {"burst": 0, "kind": "bucket"},
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_by_its_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalidError, match=next(iter(wrong))):
        RateLimit(**wrong)


def test_an_emulator_takes_only_a_rate_limit() -> None:
    with pytest.raises(RequestInvalidError, match="limit"):
        Emulator(limit=500)  # type: ignore[arg-type]
    emulator = Emulator()
    with pytest.raises(RequestInvalidError, match="limit = 500"):
        emulator.limit = 500  # type: ignore[assignment]
    assert emulator.limit is None


async def test_requests_beyond_the_limit_are_not_processed() -> None:
    now = [1_900_000_030.0]
    async with (
        Emulator(2, 0, clock=lambda: now[0], limit=RateLimit(per_window=2)) as emulator,
        ClientSession(headers={"apikey": emulator.app.api_key}) as http,
    ):
        body = {"receiver": "user-002", "receiverType": "user", "type": "text", "data": {"text": "hi"}}
        for status in (200, 200, 429):
            async with http.post(f"{emulator.base_url}/messages", json=body) as response:
                assert response.status == status
                reply = await response.json()
        assert reply["error"]["code"] == "ERR_TOO_MANY_REQUESTS"
        assert response.headers["Retry-After"] == "50"
        assert int(response.headers["X-RateLimit-Reset"]) % 60 == 0
        assert response.headers["Date"] == "Sun, 17 Mar 2030 17:47:10 GMT"
        assert len(emulator.store.ids()) == 2
        now[0] += 60
        slower = RateLimit(kind="bucket", per_window=1, window=1.0)
        for limit, statuses in ((emulator.limit, [200]), (None, [200]), (slower, [200, 429])):
            emulator.limit = limit
            assert emulator.limit == limit
            for status in statuses:
                async with http.get(f"{emulator.base_url}/users") as response:
                    assert response.status == status
                    assert ("X-RateLimit-Limit" in response.headers) is (status == 429)
        assert (emulator.limited.allowed, emulator.limited.refused) == (4, 2)
