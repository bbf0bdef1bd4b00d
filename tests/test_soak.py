"""Ten minutes of bad weather, none of it slept: what is read stays whole, and nothing is left behind."""

import asyncio
import gc
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple
from weakref import WeakSet

import msgspec
import pytest

from chatrest import (
    AsyncSession,
    ChatRestError,
    MessageQuery,
    NewMessage,
    OutcomeUnknownError,
    RateLimitError,
)
from chatrest.emulator import Emulator
from chatrest.emulator.limits import RateLimit
from chatrest.emulator.store.message_index import conversation_id
from chatrest.emulator.weather import Chance, Latency, Reset, Status, storm
from chatrest.pytest_plugin import START, ChatRestTime

pytestmark = pytest.mark.usefixtures("tidy")

SECONDS = 600
"""Of the virtual clock: chapters are added until so many have passed."""
SENDER, RECEIVER = "user-01", "user-02"
PAIRS = 100
SENDS = 40
MOST_KEPT = 2_000_000
"""Bytes that may be kept of all chapters but the first; at their height they take above ten million."""


class Chapter(NamedTuple):
    """The weather of all walks once: a storm, and a share of replies lost beyond what a storm spares."""

    seed: int
    intensity: float
    lost: float = 0.0


KEPT_TO = RateLimit(per_window=500, window=60.0, headers="b")
STRUCK = RateLimit(per_window=200, window=60.0, headers="none")
"""The storm's own 429s tell a higher limit, so that this one is struck again and again."""
STORIES: list[tuple[RateLimit, list[Chapter]]] = [
    (KEPT_TO, [Chapter(1, 0.05), Chapter(2, 0.6), Chapter(3, 0.3)]),
    (STRUCK, [Chapter(4, 0.1), Chapter(5, 0.4), Chapter(6, 0.6, lost=0.3)]),
]


@pytest.fixture(autouse=True)
def sleepless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails whoever really sleeps."""
    sleep = asyncio.sleep

    async def zero(seconds: float, result: Any = None) -> Any:
        assert seconds == 0, f"{seconds} s are really slept"
        return await sleep(0, result)

    monkeypatch.setattr(asyncio, "sleep", zero)


@pytest.fixture
def transports(monkeypatch: pytest.MonkeyPatch) -> Iterator[WeakSet[Any]]:
    """The transports that the client has opened and that are still there."""
    made: WeakSet[Any] = WeakSet()
    before = asyncio.BaseEventLoop.create_connection

    async def create_connection(*args: Any, **kwargs: Any) -> Any:
        transport, protocol = await before(*args, **kwargs)
        made.add(transport)
        return transport, protocol

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)
    yield made
    made.clear()


class Talk(NamedTuple):
    """A conversation, and the ids that are in it."""

    uids: tuple[str, str]
    ids: list[str]


class Log:
    """What has come of everything."""

    def __init__(self) -> None:
        self.taken_up: Counter[str] = Counter()
        """Errors after which a walk was taken up again, by class."""
        self.walks = 0
        self.sent: dict[str, str] = {}
        """What a send ended in, by its muid."""


def talks(emulator: Emulator) -> list[Talk]:
    """The conversations of two with the most messages."""
    found: list[Talk] = []
    for name in emulator.store.conversations():
        one, apart, other = name.partition("_user_")
        if apart and {one, other} != {SENDER, RECEIVER}:
            numbers = emulator.store.ids(conversation=name)
            found.append(Talk((one, other), [str(number) for number in numbers]))
    return found[:PAIRS]


async def read(session: AsyncSession, talk: Talk, number: int, log: Log) -> None:
    """One walk, as a caller makes it who does not give up."""
    affix = "append" if number % 2 else "prepend"
    query = MessageQuery(affix=affix, limit=4 + number % 17)
    walk = session.messages.list_user(talk.uids[0], on_behalf_of=talk.uids[1], query=query)
    found: list[str] = []
    while True:
        try:
            async for message in walk:
                found.append(message.id)
            break
        except ChatRestError as error:
            log.taken_up[type(error).__name__] += 1
    assert found == (talk.ids if affix == "append" else talk.ids[::-1])
    log.walks += 1


async def send(session: AsyncSession, muid: str, log: Log) -> None:
    """One message, which is not sent again whatever comes of it."""
    message = NewMessage.text(RECEIVER, muid, muid=muid)
    try:
        sent = await session.messages.send(message, on_behalf_of=SENDER)
    except (OutcomeUnknownError, RateLimitError) as error:
        log.sent[muid] = "unknown" if isinstance(error, OutcomeUnknownError) else "refused"
    else:
        assert sent.muid == muid
        log.sent[muid] = "sent"


async def all_at_once(
    emulator: Emulator, session: AsyncSession, told: list[Talk], number: int, log: Log
) -> None:
    """Every conversation from both ends and some sends, a tenth of the walks before the others."""
    bulk = session.with_options(priority="bulk")
    async with asyncio.TaskGroup() as group:
        for index in range(2 * len(told)):
            view = session if index % 10 == 0 else bulk
            group.create_task(read(view, told[index // 2], index, log))
        for index in range(SENDS):
            group.create_task(send(session, f"{number}-{index}", log))


def becomes(emulator: Emulator, chapter: Chapter) -> None:
    """The weather changes."""
    seed, share = chapter.seed, chapter.intensity
    emulator.weather.clear()
    emulator.weather.add(
        Latency(0.05, when=Chance(share, seed)),
        Status(503, route="messages.send", processed=True, when=Chance(share / 4, seed)),
        Reset(route="messages.send", processed=True, when=Chance(share / 4, seed)),
        Reset(route="messages.send", when=Chance(share / 4, seed)),
        Status(500, method="GET", when=Chance(chapter.lost, seed)),
        *storm(seed, share),
    )


def applied(emulator: Emulator) -> Counter[str]:
    """How often each message that was sent stands in the store, by its muid."""
    name = conversation_id(SENDER, RECEIVER)
    records = map(msgspec.json.decode, emulator.store.records(emulator.store.ids(conversation=name)))
    return Counter(record["muid"] for record in records if "muid" in record)


def kept() -> int:
    """Bytes that were allocated since tracing began, and are still held."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.fixture
def tracing() -> Iterator[None]:
    """Ends what the test has begun to trace, however it ends."""
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(("limit", "chapters"), STORIES, ids=["limit-kept-to", "limit-struck"])
async def test_ten_minutes_of_bad_weather(
    transports: WeakSet[Any], limit: RateLimit, chapters: list[Chapter]
) -> None:
    log, time = Log(), ChatRestTime()
    times: dict[str, Any] = {"clock": time.clock, "sleep": time.sleep}
    async with Emulator(users=60, messages=4000, seed=5, limit=limit, **times) as emulator:
        told = talks(emulator)
        async with AsyncSession(emulator.app, dice=Random(0).random, **times) as session:
            number = 0
            while number < len(chapters) or time.now < START + SECONDS:
                becomes(emulator, chapters[number % len(chapters)])
                await all_at_once(emulator, session, told, number, log)
                number += 1
                assert (session.pools["us"].active, session.pools["us"].waiting) == (0, 0)
                emulator.requests.clear()
                time.slept.clear()
                if number == 1:
                    tracemalloc.start()
            assert kept() < MOST_KEPT
            assert log.walks == 2 * PAIRS * number
            assert bool(log.taken_up) == bool(emulator.limited.refused) == (limit is STRUCK)
            check_sends(log, applied(emulator))
        await asyncio.sleep(0)
        assert all(transport.is_closing() for transport in transports)
        assert all(transport.get_extra_info("socket").fileno() == -1 for transport in transports)


def check_sends(log: Log, found: Counter[str]) -> None:
    """What is said to be sent stands in the store once, what is said to be refused never."""
    assert {muid for muid, end in log.sent.items() if end == "sent"} <= found.keys() <= log.sent.keys()
    assert set(found.values()) == {1}
    assert not [muid for muid, end in log.sent.items() if end == "refused" and muid in found]
    # Both happen, and nobody can tell them apart: so it is said, and nothing is repeated.
    assert {muid in found for muid, end in log.sent.items() if end == "unknown"} == {True, False}
