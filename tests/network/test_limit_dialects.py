"""Services that name no honest time after a 429: what the callers send stays bounded, in virtual time."""

import asyncio
from email.utils import formatdate

import pytest

from chatrest import AsyncSession, RateLimitError
from chatrest._network.places import PRIORITIES, Priority
from tests.scripted_server import Faulty, reply
from tests.virtual_time import run

NOW = 1_700_000_000
DATE = formatdate(NOW, usegmt=True)
MINUTE = 60.0
CALLERS = 25
DIALECTS: dict[str, dict[str, str]] = {
    "none": {},
    "zero": {"retry_after": "0"},
    "fraction": {"retry_after": "0.001"},
    "half a second": {"retry_after": "0.5"},
    "past date": {"retry_after": formatdate(NOW - 60, usegmt=True)},
    "this moment": {"retry_after": DATE},
    "passed reset": {"x_rate_limit_reset": str(NOW - 30)},
    "reset in milliseconds": {"x_ratelimit_reset": str(1000 * NOW - 5)},
    "seconds to go": {"x_ratelimit_reset": "0"},
    "draft": {"ratelimit_reset": "0"},
    "two that differ": {"retry_after": "0", "x_rate_limit_reset": str(NOW + 10)},
}


async def refused_for_a_minute(headers: dict[str, str], priority: Priority) -> int:
    """Return the requests that all callers make in a minute of a service that refuses all of them."""
    clock = asyncio.get_running_loop().time
    async with (
        Faulty(reply(b"", 429, date=DATE, **headers)) as server,
        AsyncSession(server.app(), clock=clock, sleep=asyncio.sleep, priority=priority) as session,
    ):

        async def call() -> None:
            while True:
                try:
                    await session.request("GET", "/a")
                except RateLimitError:
                    await asyncio.sleep(1.0)  # as a caller who tries again does

        callers = [asyncio.create_task(call()) for _ in range(CALLERS)]
        await asyncio.sleep(MINUTE)
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        return len(server.requests)


@pytest.mark.parametrize("priority", PRIORITIES)
@pytest.mark.parametrize("headers", DIALECTS.values(), ids=DIALECTS)
def test_a_service_that_refuses_everything_is_asked_seldom(
    headers: dict[str, str], priority: Priority
) -> None:
    assert run(refused_for_a_minute(headers, priority)) <= 6 * CALLERS


def test_a_reset_too_small_for_an_epoch_is_seconds_to_go() -> None:
    async def first_wait(reset: str) -> float:
        clock = asyncio.get_running_loop().time
        async with (
            Faulty(reply(b"", 429, date=DATE, x_ratelimit_reset=reset), reply()) as server,
            AsyncSession(server.app(), clock=clock, sleep=asyncio.sleep, dice=lambda: 0.0) as session,
        ):
            await session.request("GET", "/a")
            return clock()

    for reset in ("7", str(NOW + 7), str(1000 * (NOW + 7))):
        assert run(first_wait(reset)) == pytest.approx(7.0, abs=0.3), reset
