"""A chat backend with aiohttp.web: a support team sees the unread messages of many users at once.

    python -m chatrest.examples.aiohttp_backend

Starts an emulator and the backend, plays a browser against them, stops the backend while a request is under
way, and prints what the browser gets and what the backend logs. In a program of your own, give `make_app`
your session and your sign-in, and let `web.run_app` stop it at SIGTERM:

    app = make_app(lambda: AsyncSession(App.from_env()), is_in_team)  # is_in_team: from a login to a bool
    web.run_app(app, shutdown_timeout=SHUTDOWN_SECONDS)
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeAlias

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler

from chatrest import AsyncSession, ChatRestError, MessageQuery, Outcome
from chatrest.emulator import Emulator
from chatrest.emulator.weather import HalfOpen, Status
from chatrest.examples.error_statuses import answer_error
from chatrest.examples.request_deadline import RequestDeadline

LOGGER: Final = logging.getLogger(__name__)
REQUEST_SECONDS: Final = 3.0
"""The time that a request has for all its calls."""
SHUTDOWN_SECONDS: Final = 5.0
"""The time that requests under way have at shutdown: more than any of them may take."""
MOST_USERS: Final = 200
"""Users a request."""
AT_ONCE: Final = 20
"""Users of one request that are counted at once, so that it leaves places to others."""
IsInTeam: TypeAlias = Callable[[str], bool]
"""True for a valid login of the team."""
SESSION: Final = web.AppKey("session", AsyncSession)
IS_IN_TEAM: Final = web.AppKey("is_in_team", Callable[[str], bool])


# ── handlers ──


async def count_unread(request: web.Request) -> web.Response:
    """Answer `GET /unread?uid=…&uid=…`: the number of unread messages of each user.

    A user that cannot be counted, or not in time, is named with the code of the error, and the others are
    answered: the status is 200. It is that of an error only if no user could be counted.
    """
    uids = list(dict.fromkeys(request.query.getall("uid", [])))
    if not 1 <= len(uids) <= MOST_USERS:
        raise web.HTTPBadRequest(text=f"uid: allowed are 1 to {MOST_USERS} users")
    session, deadline = request.app[SESSION], RequestDeadline(REQUEST_SECONDS)

    async def unread(uid: str) -> int:
        # The view is made when the user's turn comes, so that all users together have the one deadline.
        counts = await deadline.view(session.as_user(uid)).messages.counts(MessageQuery(unread=True))
        return sum(each.count for each in counts)

    async with session.fan_out(uids, unread, concurrency=AT_ONCE, ordered=True) as outcomes:
        results = [outcome async for outcome in outcomes]
    return web.json_response(unread_answer(results))


def unread_answer(results: list[Outcome[str, int]]) -> dict[str, Any]:
    """Return the counts and the failures by uid; raise the first error if every user failed."""
    if results[0].error is not None and not any(outcome.ok for outcome in results):
        raise results[0].error
    for outcome in results:
        if outcome.error is not None and not isinstance(outcome.error, ChatRestError):
            raise outcome.error  # a mistake in this program
