"""The management interface: the same engine, another address, other keys (Authentication 6)."""

import asyncio
import random
import time
from types import TracebackType
from typing import Final, Self, TypeVar, final

from .core.arguments import check_count, instance
from .core.endpoint import Call
from .core.hosts import check_key, check_url
from .core.pacer import Pace
from .core.paging import PageSizes
from .core.retry import RetryPolicy
from .core.timeouts import Timeouts, check_seconds
from .core.wire import request
from .network.call import Terms
from .network.engine import Dice, Engine
from .network.timing import Clock, Sleep
from .network.transport import Transport, Verify
from .resources.apps import Apps
from .session import MAX_REPLY_BYTES, Pools, check_timing, check_verify

R = TypeVar("R")

POOL: Final = "management"


@final
class AsyncManagement:
    """Calls to the management interface at `url`, with its two keys. Use it with `async with`.

    `url` is https, or http to loopback. The other arguments are those of `AsyncSession`. Raises
    `RequestInvalidError` where an argument is wrong; no error and no repr shows a key.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str,
        secret: str,
        concurrency: int = 10,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
        deadline: float | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        verify: Verify = True,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        dice: Dice = random.random,
    ) -> None:
        self._url = check_url("url", url)
        cap = check_count("max_reply_bytes", max_reply_bytes)
        check_verify(verify)
        timing = check_timing(clock, sleep, dice)
        self._pools = Pools(
            check_count("concurrency", concurrency), timing, Pace(), lambda: Transport(verify=verify, cap=cap)
        )
        terms = Terms(
            app_id=POOL,
            timeouts=instance("timeouts", timeouts, Timeouts),
            retry=instance("retry", retry, RetryPolicy),
            deadline=check_seconds("deadline", deadline),
            lane="interactive",
            secrets=(check_key("key", key), check_key("secret", secret)),
        )
        self.sender: Final = _Sender(self._url, Engine(timing, dice, ()), self._pools, terms)
        self.apps: Final = Apps(self.sender)

    def __repr__(self) -> str:
        return f"<AsyncManagement at {self._url}>"

    async def __aenter__(self) -> Self:
        self._pools.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes every connection."""
        await self._pools.close()


class _Sender:
    """What the resources know of it: `core.endpoint.Send`."""

    app_id: Final = POOL
    acting_user: Final = None

    def __init__(self, url: str, engine: Engine, pools: Pools, terms: Terms) -> None:
        self.page_sizes, self.cursor_key = PageSizes(), None
        self._url, self._engine, self._pools, self._terms = url, engine, pools, terms
        key, secret = terms.secrets
        self._headers = {"key": key, "secret": secret, "Accept": "application/json"}

    async def __call__(self, call: Call[R], /) -> R:
        """Makes the call."""
        sent = request(call, self._url, self._headers, "comma")
        return await self._engine.run(call, sent, self._pools.of(POOL), self._terms)
