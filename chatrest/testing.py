"""Time for tests: a clock that advances only when code sleeps.

    from chatrest import AsyncSession
    from chatrest.emulator import Emulator
    from chatrest.export import export
    from chatrest.testing import VirtualTime

    time = VirtualTime()
    async with Emulator(**time.emulator) as emulator:
        async with AsyncSession(emulator.app, **time.session) as session:
            report = await export(session, "out", recheck=7 * 86_400)

The fixtures of `chatrest.pytest_plugin` are made of it. Faults, rate limits and events for webhooks are
those of `chatrest.emulator`.

A file of its own because it is public: it is imported by tests of users, and by the plugin here.
"""

import asyncio
from typing import Any, Final, final

START: Final = 1_700_000_000.0
"""The start of `VirtualTime` in epoch seconds."""


@final
class VirtualTime:
    """The clock of emulator, session and exports, which advances only when code sleeps, so tests do not wait.

    A rate limit's window ends, and a late reply arrives, when some code has slept for as long. Exports have
    the time of their session.
    """

    def __init__(self, start: float = START) -> None:
        self.now: float = start
        """The time in epoch seconds; a test may increase it."""
        self.slept: list[float] = []
        """The length of every sleep in seconds, the oldest first."""

    def clock(self) -> float:
        """Return `now`."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Advance `now` by `seconds`, and run the event loop once."""
        self.slept.append(seconds)
        self.now += max(0.0, seconds)
        await asyncio.sleep(0)

    @property
    def emulator(self) -> dict[str, Any]:
        """The arguments of `Emulator` for this time."""
        return {"clock": self.clock, "sleep": self.sleep}

    @property
    def session(self) -> dict[str, Any]:
        """The arguments of `AsyncSession` for this time; its dice always give 0.5."""
        return {"clock": self.clock, "sleep": self.sleep, "dice": lambda: 0.5}
