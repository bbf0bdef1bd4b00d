"""The documented service on 127.0.0.1, over real HTTP: for your tests and for benchmarks.

    async with Emulator(users=50, messages=1000, seed=0) as emulator:
        async with AsyncSession(emulator.app) as session:
            ...

`Emulator` listens; `Store` is its data, and can be used without it; `IncomingRequest` is a noted request.
Bad weather is scripted with the faults of `chatrest.emulator.weather`, a rate limit with `RateLimit`.
"""

from .limits import RateLimit
from .outbox import Delivery
from .server import Emulator, IncomingRequest
from .store import Store
from .weather import Fault, Weather, storm

__all__ = ["Delivery", "Emulator", "Fault", "IncomingRequest", "RateLimit", "Store", "Weather", "storm"]
