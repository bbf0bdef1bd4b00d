"""A call without a session: over a pool that the test has made, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from chatrest._core.pace.retry import RetryPolicy
from chatrest._core.replies.scanner import read_json
from chatrest._core.requests.arguments import Timeouts
from chatrest._core.requests.endpoint import Call, Endpoint, Method, Replay
from chatrest._core.requests.wire import Headers, Request
from chatrest._network.call import CallContext
from chatrest._network.client import run_call
from chatrest._network.places import Priority
from chatrest._network.pool import Pool
from chatrest._network.session_options import CallOptions, Destination
from chatrest._network.timing import Timing
from tests.network.clocks import virtually

METHODS: dict[Replay, Method] = {"safe": "GET", "idempotent": "PUT", "never": "POST"}


def make_call(
    pool: Pool,
    timing: Timing,
    replay: Replay = "safe",
    *,
    app_id: str = "app-1",
    deadline: float | None = None,
    priority: Priority = "interactive",
    dice: float = 0.5,
    user_limit: int | None = None,
    **policy: Any,
) -> Awaitable[Any]:
    """A call of the operation `x.do` over `pool`; `policy` are arguments of `RetryPolicy`.

    With `user_limit` a user acts, and that is the user's own limit.
    """
    endpoint: Endpoint[Any] = Endpoint(
        "x.do", METHODS[replay], "/x", read_json, replay, user_limit=user_limit
    )
    acting_user = None if user_limit is None else "alice"
    options = CallOptions(
        destination=Destination(app_id=app_id, region="us", addresses={}, keys=Headers()),
        acting_user=None,
        headers=Headers(),
        deadline=deadline,
        retry=RetryPolicy(**policy),
        timeouts=Timeouts(),
        priority=priority,
    )
    context = CallContext(loop=asyncio.get_running_loop(), timing=timing, dice=lambda: dice, listeners=())
    request = Request(endpoint.method, "http://localhost/x", Headers(), None)
    return run_call(Call(endpoint, "/x", acting_user=acting_user), request, pool, options, context)


async def forever() -> Any:
    await asyncio.Event().wait()


def in_time(test: Callable[..., Any]) -> Callable[..., None]:
    """Run an async test in virtual time; it must leave no task behind."""

    @wraps(test)
    def run_test(*args: Any, **kwargs: Any) -> None:
        virtually(test(*args, **kwargs))

    return run_test
