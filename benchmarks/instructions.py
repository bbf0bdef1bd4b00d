"""The cost of a call in instructions: chatrest against aiohttp and msgspec by hand, with the same fields.

The processor's instructions of the client's process, counted by `valgrind --tool=cachegrind --cache-sim=no`:
the same count whatever else the machine does. Each use runs in two lengths, in a fork of its own, and the
cost of a call is their difference: so neither start nor import counts. The servers are other processes, and
not measured. Needs `valgrind`.
"""

import asyncio
import gc
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeAlias

from chatrest import App, AsyncSession, MessageQuery, NewMessage

from .comparison import Comparison, Goal
from .fixed_server import PlainClient, run_server
from .measure import Benchmark, Size
from .pages import UID
from .server import ServerProcess

BY_HAND: Final = "aiohttp + msgspec by hand"
VALGRIND: Final = ("valgrind", "-q", "--tool=cachegrind", "--cache-sim=no")
_SENT: Final = NewMessage.text("bob", "hello")
_QUERY: Final = MessageQuery(affix="append")

Run: TypeAlias = Callable[[], Awaitable[Any]]
"""One repetition of a use."""


class Use(NamedTuple):
    """A use as each client does it, and the goal for what chatrest adds to the other."""

    name: str
    ours: Callable[[AsyncSession], Run]
    hand: Callable[[PlainClient], Run]
    goal: Goal
    messages: int = 0
    """The messages of a walk; 0 for a call."""


def _first_page(session: AsyncSession) -> Run:
    return lambda: session.messages.list_user("bob").limit(1).collect()


def _page_with_token(session: AsyncSession) -> Run:
    return lambda: session.messages.list_user("bob", query=_QUERY).page(1)


def _page_from_token(session: AsyncSession) -> Run:
    tokens: list[str | None] = [None]

    async def page() -> Any:
        result = await session.messages.list_user("bob", query=_QUERY, cursor=tokens[-1]).page(1)
        tokens[1:] = tokens[1:] or [result.next]
        return result

    return page


def _walk(size: int, session: AsyncSession) -> Run:
    async def walk() -> int:
        count = 0
        async for _ in session.messages.list_user(UID, query=MessageQuery(per_page=size, affix="append")):
            count += 1
        return count

    return walk


def _added(thousands: float) -> Goal:
    return Goal(thousands, "difference")


WALKED: Final = 3000
"""The messages of the list that is walked."""
USES: Final = {
    "get": Use(
        "session.request(…)",
        lambda session: lambda: session.request("GET", "/users/bob"), lambda hand: hand.request, _added(35),
    ),
    "record": Use(
        "users.get(…)", lambda session: lambda: session.users.get("bob"), lambda hand: hand.user, _added(45)
    ),
    "first_page": Use("list_user(…).limit(1).collect()", _first_page, lambda hand: hand.page, _added(90)),
    "page": Use("list_user(…, query).page(1)", _page_with_token, lambda hand: hand.page, _added(150)),
    "from_token": Use(
        "list_user(…, query, cursor=token).page(1)", _page_from_token, lambda hand: hand.page, _added(220)
    ),
    "send": Use(
        "messages.send(…)", lambda session: lambda: session.messages.send(_SENT), lambda hand: hand.send,
        _added(55),
    ),
    "walk_100": Use(
        "a typed walk, pages of 100", partial(_walk, 100), lambda hand: partial(hand.walk, UID, 100),
        Goal(1.1), WALKED,
    ),
    "walk_1000": Use(
        "a typed walk, pages of 1000", partial(_walk, 1000), lambda hand: partial(hand.walk, UID, 1000),
        Goal(1.07), WALKED,
    ),
}  # fmt: skip


# ── the measured process ──


async def repeat(use: Use, client: str, app: App, times: int) -> None:
    async with AsyncExitStack() as stack:
        if client == "ours":
            run = use.ours(await stack.enter_async_context(AsyncSession(app)))
        else:
            run = use.hand(await stack.enter_async_context(PlainClient(app)))
        for _ in range(times):
            assert await run()


def measure_uses(client: str, calls: str, *urls: str) -> None:
    """Run each use in two lengths, each in a fork of this process; print their process ids."""
    gc.collect()
    gc.freeze()
    apps = [App("benchmark", "benchmark-key", base_url=url) for url in urls]
    for name, use in USES.items():
        for is_long in (False, True):
            if not (process := os.fork()):
                times = (1 if use.messages else int(calls)) * (1 + is_long) + 1
                asyncio.run(repeat(use, client, apps[bool(use.messages)], times))
                os._exit(0)
            assert os.waitpid(process, 0)[1] == 0
            print(name, process, flush=True)


_PROGRAM: Final = "import sys; from benchmarks.instructions import measure_uses; measure_uses(*sys.argv[1:])"


# ── the measurement ──


def _count(client: str, calls: int, *apps: App) -> dict[str, int]:
    """Return the instructions of each use: what its longer process has more than the shorter one."""
    with TemporaryDirectory() as folder:
        valgrind = (*VALGRIND, f"--cachegrind-out-file={folder}/%p", sys.executable, "-c", _PROGRAM)
        command = (*valgrind, client, str(calls), *(app.chat_url for app in apps))
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        counts: dict[str, list[int]] = {}
        for name, process in map(str.split, done.stdout.splitlines()):
            text = Path(folder, process).read_text(encoding="utf-8")
            counts.setdefault(name, []).append(int(text.rpartition("summary:")[2]))
    return {name: long - short for name, (short, long) in counts.items()}


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons of all uses; one that says so where there is no valgrind."""
    if shutil.which("valgrind") is None:
        return [Comparison(case="instructions of a call", failure="valgrind is not installed")]
    with run_server() as fixed, ServerProcess(WALKED) as walked, ThreadPoolExecutor() as pool:
        ours, hand = pool.map(lambda client: _count(client, sizes.calls, fixed, walked.app), ("ours", "hand"))
    return [_compare(use, ours[name], hand[name], sizes.calls) for name, use in USES.items()]


def _compare(use: Use, ours: int, hand: int, calls: int) -> Comparison:
    scale = 1e-3 / (use.messages or calls)
    return Comparison(
        case=use.name,
        against=BY_HAND,
        unit=f"1000 instructions a {'message' if use.messages else 'call'}",
        ours=ours * scale,
        other=hand * scale,
        ratio=ours / hand,
        difference=(ours - hand) * scale,
        goal=use.goal,
    )


BENCHMARK: Final = Benchmark(
    "A call and a message of a walk, above hand-written aiohttp + msgspec",
    "instructions of the client: the difference of {calls} calls and twice as many",
    {"calls": Size("calls of the shorter process", 100, 100)},
    ("aiohttp", "msgspec"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
