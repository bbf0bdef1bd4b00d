"""A chat backend with aiohttp.web: a support team sees the unread messages of many users at once.

    python -m chatrest.examples.aiohttp_backend

Starts an emulator and the backend, plays a browser against them, stops the backend while a request is under
way, and prints what the browser gets and what the backend logs. In a program of your own, give `make_app`
your session and your sign-in, and let `web.run_app` stop it at SIGTERM:

    app = make_app(lambda: AsyncSession(App.from_env()), is_in_team)  # is_in_team: from a login to a bool
    web.run_app(app, shutdown_timeout=SHUTDOWN_SECONDS)
"""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from secrets import token_bytes
from typing import Any, Final

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler

from chatrest import AsyncSession, ChatRestError, MessageQuery, Outcome
from chatrest.emulator import Emulator
from chatrest.emulator.weather import First, HalfOpen, Status
from chatrest.examples.web_requests import answer_error

LOGGER: Final = logging.getLogger(__name__)
REQUEST_SECONDS: Final = 3.0
"""The time that a request has for all its calls."""
SHUTDOWN_SECONDS: Final = 5.0
"""The time that requests under way have at shutdown: more than any of them may take."""
PAGE: Final = 20
"""Messages a page."""
MOST_USERS: Final = 200
"""Users a request."""
AT_ONCE: Final = 20
"""Users of one request that are counted at once, so that it leaves places to others."""
SESSION: Final = web.AppKey("session", AsyncSession)
IS_IN_TEAM: Final[web.AppKey[Callable[[str], bool]]] = web.AppKey("is_in_team")


# ── handlers ──


async def count_unread(request: web.Request) -> web.Response:
    """Answer `GET /unread?uid=…&uid=…`: the number of unread messages of each user.

    A user that cannot be counted, or not in time, gets the code of the error, and the others their counts,
    with status 200. The request itself fails only if no user could be counted.
    """
    uids = list(dict.fromkeys(request.query.getall("uid", [])))
    if not 1 <= len(uids) <= MOST_USERS:
        raise web.HTTPBadRequest(text=f"uid: allowed are 1 to {MOST_USERS} users")
    chat = request.app[SESSION].within(REQUEST_SECONDS)

    async def unread(uid: str) -> int:
        counts = await chat.as_user(uid).messages.counts(MessageQuery(unread=True))
        return sum(each.count for each in counts)

    # Leaving the block, also by a cancel at the end of the shutdown's time, cancels the workers.
    async with chat.fan_out(uids, unread, concurrency=AT_ONCE, ordered=True) as outcomes:
        return web.json_response(show_counts([outcome async for outcome in outcomes]))


def show_counts(outcomes: Sequence[Outcome[str, int]]) -> dict[str, dict[str, Any]]:
    """Return the counts and the failures by uid.

    Raises an error that is not of chatrest, which is a mistake, and the first error if there is no count.
    """
    errors = {outcome.item: outcome.error for outcome in outcomes if outcome.error is not None}
    failed = {}
    for uid, error in errors.items():
        if len(errors) == len(outcomes) or not isinstance(error, ChatRestError):
            raise error
        failed[uid] = answer_error(error).body["error"]
    return {"unread": {outcome.item: outcome.value for outcome in outcomes if outcome.ok}, "failed": failed}


async def read_messages(request: web.Request) -> web.Response:
    """Answer `GET /users/{uid}/messages?cursor=…`: a page of the user's messages, the newest first."""
    chat = request.app[SESSION].within(REQUEST_SECONDS)
    query, cursor = MessageQuery(affix="prepend"), request.query.get("cursor")
    page = chat.messages.list_user(request.match_info["uid"], query, cursor=cursor).limit(PAGE)
    messages = [{"id": each.id, "sender": each.sender, "sent_at": each.sent_at} async for each in page]
    return web.json_response(
        {"messages": messages, "next": str(page.cursor) if len(messages) == PAGE else None}
    )


# ── the application ──


def make_app(open_chat: Callable[[], AsyncSession], is_in_team: Callable[[str], bool]) -> web.Application:
    """Return the backend. `open_chat` makes the session of the process, `is_in_team` knows the logins."""

    async def keep_session(app: web.Application) -> AsyncIterator[None]:
        """Open the session before the first request; close it after the last one, at shutdown."""
        async with open_chat() as app[SESSION]:
            yield

    app = web.Application(middlewares=[show_errors, check_login])
    app[IS_IN_TEAM] = is_in_team
    app.cleanup_ctx.append(keep_session)
    app.router.add_get("/unread", count_unread)
    app.router.add_get("/users/{uid}/messages", read_messages)
    return app


@web.middleware
async def show_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer an error of chatrest with its status. Its text, which has no key in it, goes to the log."""
    try:
        return await handler(request)
    except ChatRestError as error:
        LOGGER.warning("%s %r: %s", request.method, request.path, error)  # a path may hold any character
        answer = answer_error(error)
        return web.json_response(answer.body, status=answer.status, headers=answer.headers)


@web.middleware
async def check_login(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse who is not in the team; the login is in the header `Authorization: Bearer …`."""
    login = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not request.app[IS_IN_TEAM](login):
        raise web.HTTPUnauthorized(text="sign in first", headers={"WWW-Authenticate": "Bearer"})
    return await handler(request)


# ── a browser, a service with faults, and a shutdown ──

LOGIN: Final = "login-of-the-team"
"""What a sign-in of your own would know."""


async def ask(browser: aiohttp.ClientSession, purpose: str, path: str) -> Any:
    """Send a request, print it and the answer, and return what it holds."""
    async with browser.get(path) as response:
        text = await response.text()
        status = f"{response.status} {response.reason}"
        sys.stdout.write(f"{purpose}\n    GET {path:.70}\n    {status}\n    {text:.100}\n\n")
        return json.loads(text) if response.content_type == "application/json" else text


async def browse(browser: aiohttp.ClientSession, emulator: Emulator) -> None:
    """Play a browser of the team, while faults strike the service."""
    users = "&".join(f"uid=user-{number:02}" for number in range(1, 9))
    await ask(browser, "The unread messages of eight users, counted at once.", f"/unread?{users}")
    await ask(browser, "One of the users does not exist.", "/unread?uid=user-01&uid=nobody")
    page = await ask(browser, "The newest messages of a user.", "/users/user-01/messages")
    await ask(browser, "The page after them.", f"/users/user-01/messages?cursor={page['next']}")
    other = f"/users/user-02/messages?cursor={page['next']}"
    await ask(browser, "The token is refused for another user.", other)
    emulator.weather.add(Status(401))
    wrong_key = "The service refuses the backend's key: the user is not signed out for it."
    await ask(browser, wrong_key, f"/unread?{users}")
    emulator.weather.clear()


async def shut_down(browser: aiohttp.ClientSession, emulator: Emulator, runner: web.AppRunner) -> None:
    """Stop the backend while a request is under way: it is answered, and only then the session is closed."""
    emulator.weather.add(HalfOpen(when=First()))
    answer = asyncio.create_task(
        ask(browser, "A request that is under way when the backend is stopped.", "/unread?uid=user-01")
    )
    while not emulator.weather.struck["half_open"]:  # noqa: ASYNC110
        await asyncio.sleep(0.001)  # until the service has the call
    stopped = asyncio.create_task(runner.cleanup())
    await asyncio.sleep(0)
    emulator.weather.release()
    await asyncio.gather(answer, stopped)
    try:
        await ask(browser, "", "/unread?uid=user-01")
    except aiohttp.ClientConnectorError:
        sys.stdout.write("After it nobody is answered: the backend has stopped.\n")


async def run() -> None:
    """Run emulator and backend, browse without a login and with one, and stop the backend."""
    async with Emulator(users=8, messages=500) as emulator:
        cursor_key = token_bytes(32)  # of a real backend, the same in all processes and after a restart
        app = make_app(
            lambda: AsyncSession(emulator.app, cursor_key=cursor_key), lambda login: login == LOGIN
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0]
            async with aiohttp.ClientSession(f"http://{host}:{port}") as browser:
                await ask(browser, "Nobody is signed in.", "/unread?uid=user-01")
                browser.headers["Authorization"] = f"Bearer {LOGIN}"
                await browse(browser, emulator)
                await shut_down(browser, emulator, runner)
        finally:
            await runner.cleanup()


def main() -> None:
    """Run the example; the backend's log goes between the lines of the browser."""
    logging.basicConfig(stream=sys.stdout, format="(log) %(message)s")
    asyncio.run(run())


if __name__ == "__main__":
    main()
