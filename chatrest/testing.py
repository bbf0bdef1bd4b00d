"""A clock for tests, which advances only when code sleeps: tests of waits and limits take no time.

    from chatrest import AsyncSession
    from chatrest.emulator import Emulator
    from chatrest.export import export
    from chatrest.testing import VirtualTime

    time = VirtualTime()
    async with Emulator(**time.emulator) as emulator:
        async with AsyncSession(emulator.app, **time.session) as session:
            report = await export(session, "out", recheck=7 * 86_400)

The fixtures of `chatrest.pytest_plugin` use it. `chatrest.emulator` has faults, rate limits and webhooks.

A file of its own because it is public: programs' tests and the pytest plugin import it.
"""

import asyncio
from typing import Any, Final, final

START: Final = 1_700_000_000.0
"""The default start of a `VirtualTime` in epoch seconds (November 2023)."""


@final
class VirtualTime:
    """The clock that an emulator and a session share in a test; it advances only when code sleeps.

    Pass its properties `emulator` and `session` as keyword arguments. A rate limit's window ends, and a
    delayed reply arrives, as soon as code has slept for as long. Exports use the clock of their session.
    """

    def __init__(self, start: float = START) -> None:
        """Begin at `start`, in epoch seconds."""
        self.now: float = start
        """The time in epoch seconds; a test may increase it."""
        self.slept: list[float] = []
        """The length of every sleep so far in seconds, the oldest first."""

    def clock(self) -> float:
        """Return the present time in epoch seconds: `now`."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Advance `now` by `seconds`, and let other tasks run once. A cancel leaves `now` advanced."""
        self.slept.append(seconds)
        self.now += max(0.0, seconds)
        await asyncio.sleep(0)

    @property
    def emulator(self) -> dict[str, Any]:
        """The arguments `clock` and `sleep` of an `Emulator`."""
        return {"clock": self.clock, "sleep": self.sleep}

    @property
    def session(self) -> dict[str, Any]:
        """The arguments `clock`, `sleep` and `dice` of an `AsyncSession`; the dice always give 0.5."""
        return {"clock": self.clock, "sleep": self.sleep, "dice": lambda: 0.5}
