"""The documented service on 127.0.0.1, over real HTTP: for your tests and for benchmarks.

    from chatrest import AsyncSession
    from chatrest.emulator import Emulator

    async with Emulator(users=50, messages=1000, seed=0) as emulator:
        async with AsyncSession(emulator.app) as session:
            ...

`Emulator` listens; `Store` is its data, and can be used without it; `IncomingRequest` is a noted request.
`RateLimit` is a limit to enforce. Bad weather is a list of faults, such as `Status(503, when=First(2))`:
`Status`, `TooManyRequests`, `Latency`, `Reset`, `Cut` and the others, `storm(seed)` for many at random, and
your own, which derive from `Fault`.
"""

from .faults import (
    Chance,
    Cut,
    Fault,
    First,
    HalfOpen,
    IgnoredActingUser,
    Latency,
    LostReply,
    OutgoingReply,
    Reset,
    Status,
    TooManyRequests,
    When,
)  # fmt: skip
from .limits import RateLimit
from .server import Emulator, IncomingRequest
from .service.context import ServiceRequest as Request
from .store import Store
from .weather import Weather, storm

__all__ = [
    "Chance", "Cut", "Emulator", "Fault", "First", "HalfOpen", "IgnoredActingUser",
    "IncomingRequest", "Latency", "LostReply", "OutgoingReply", "RateLimit", "Request", "Reset", "Status",
    "Store", "TooManyRequests", "Weather", "When", "storm",
]  # fmt: skip
