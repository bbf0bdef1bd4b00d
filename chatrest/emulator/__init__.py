"""The documented service on 127.0.0.1, over real HTTP: for your tests and for benchmarks.

    from chatrest import AsyncSession
    from chatrest.emulator import Emulator, First, RateLimit, Status

    faults = [Status(503, route="messages.list_user", when=First(2))]
    limit = RateLimit(per_window=100, window=1.0)
    async with Emulator(users=3, messages=20, seed=0, weather=faults, limit=limit) as emulator:
        async with AsyncSession(emulator.app) as session:
            messages = await session.messages.list_user("user-001").collect()
        assert emulator.weather.struck["status"] == 2  # the session repeated the request twice
        assert {message.id for message in messages} <= {str(id) for id in emulator.store.ids()}

`Emulator` listens. `Store` is its data: read it to compare, and add to it while the emulator runs.
`emulator.requests` has the requests that it got, each a `LoggedRequest`; a fault decides on a
`ServiceRequest`. `RateLimit` is a limit that it enforces.

The weather is a list of faults. Each says which requests it is for (`route`, `method`), and which of these it
strikes: all, or `when=First(count, after)`, or `when=Chance(share, seed)`.

| fault               | the client gets                                                                     |
|---------------------|-------------------------------------------------------------------------------------|
| `Status`            | another status, with the service's error body or a proxy's                          |
| `TooManyRequests`   | 429, with the headers of a rate limit                                               |
| `Latency`           | the reply, so many seconds late                                                     |
| `Reset`             | a connection that is reset, before the reply or within its body                     |
| `Cut`               | a connection that is closed within the body                                         |
| `HalfOpen`          | nothing, until `emulator.weather.release()`                                         |
| `IgnoredActingUser` | the reply for another acting user than the one that the request names               |
| your own            | derive it from `Fault`, or from `LostReply` if the service's own reply is not sent  |

`storm(seed)` gives many of these faults, which strike at random.
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
    Reset,
    Status,
    TooManyRequests,
    When,
)  # fmt: skip
from .limits import RateLimit
from .middleware import LoggedRequest
from .server import Emulator
from .service.handler_input import OutgoingReply, ServiceRequest
from .store import Store
from .weather import Weather, storm

__all__ = [
    "Chance", "Cut", "Emulator", "Fault", "First", "HalfOpen", "IgnoredActingUser",
    "Latency", "LoggedRequest", "LostReply", "OutgoingReply", "RateLimit", "Reset", "ServiceRequest",
    "Status", "Store", "TooManyRequests", "Weather", "When", "storm",
]  # fmt: skip
