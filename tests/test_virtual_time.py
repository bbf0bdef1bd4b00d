"""The event loop in virtual time: its timers, and that time never overtakes anything under way."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from chatrest import AsyncSession, RequestTimeoutError, RetryPolicy, Timeouts
from chatrest.emulator import Emulator, HalfOpen, Latency
from tests.virtual_time import StalledError, run

INSTANT = 1e-9
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


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


async def connect(handle: Handler, client: Handler) -> None:
    """Connect `client` to a server on loopback that runs `handle`; both have ended afterwards."""
    served = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ending(handle, reader, writer)
        served.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        await ending(client, *await asyncio.open_connection(*server.sockets[0].getsockname()))
        await served.wait()


async def ending(handle: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Run `handle`, and close its end."""
    try:
        await handle(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


def test_a_loop_without_anything_to_wait_for_says_so() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(StalledError, match="nothing is under way"):
        run(main())


@pytest.mark.usefixtures("delivery")
def test_time_does_not_overtake_bytes() -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for size in (1, 100, 1 << 20):  # the last one is more than the buffers hold
            async with asyncio.timeout(INSTANT):
                writer.write(b"x" * size)
                assert await reader.readexactly(size) == b"x" * size

    async def main() -> float:
        async with asyncio.timeout(INSTANT):
            await connect(echo, exchange)
        return now()

    assert run(main()) == 0


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
