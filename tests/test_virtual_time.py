"""The event loop in virtual time: its timers, and that time never overtakes anything under way."""

import asyncio
import selectors

import pytest

from chatrest import AsyncSession, RequestTimeoutError, RetryPolicy, Timeouts
from chatrest.emulator import Emulator, HalfOpen, Latency
from tests.support.virtual_time import StalledError, run

INSTANT = 1e-9


def now() -> float:
    return asyncio.get_running_loop().time()


@pytest.fixture(params=["at once", "late"])
def delivery(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system show what arrives at once, or only to those who wait for it."""
    if request.param == "at once":
        return
    select = selectors.DefaultSelector.select

    def select_late(
        self: selectors.DefaultSelector, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        return [] if timeout == 0 else select(self, timeout)

    monkeypatch.setattr(selectors.DefaultSelector, "select", select_late)


def test_a_loop_that_waits_for_nothing_raises() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(StalledError, match="nothing is under way"):
        run(main())


def test_time_waits_for_a_thread() -> None:
    async def main() -> float:
        async with asyncio.timeout(INSTANT):
            assert await asyncio.to_thread(sum, range(300_000)) == 44_999_850_000
        return now()

    assert run(main()) == 0


@pytest.mark.usefixtures("delivery")
def test_replies_and_timeouts_come_at_their_times() -> None:
    async def main() -> list[float]:
        times = []
        late = Latency(7.5, route="/users/{uid}")
        silent = HalfOpen(route="/users")
        async with (
            Emulator(users=2, messages=0, weather=[late, silent], clock=now) as emulator,
            AsyncSession(
                emulator.app, clock=now, timeouts=Timeouts(connect=5, read=30), retry=RetryPolicy(attempts=1)
            ) as session,
        ):
            await session.request("GET", "/users/user-001")
            times.append(now())
            with pytest.raises(RequestTimeoutError):
                await session.request("GET", "/users")
            times.append(now())
        return times

    assert run(main()) == [7.5, 37.5]
