"""A session in a minute of simulated faults: all messages are read, and no resources are left."""

import asyncio
import gc
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
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
from chatrest.emulator import Chance, Emulator, Latency, RateLimit, Reset, Status, storm
from chatrest.emulator.store.message_index import conversation_id
from chatrest.emulator.weather import MAX_STREAK
from chatrest.testing import START, VirtualTime
from tests.support.list_faults import EmptyPage

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("tidy")]

SECONDS = 60
"""Seconds of the virtual clock; chapters are repeated until they have passed."""
SENDER, RECEIVER = "user-001", "user-002"
PAIRS = 4
SENDS = 20
MAX_ALLOCATED = 1_200_000
"""Bytes that all chapters but the first may leave allocated; their peak is above four million."""


class Chapter(NamedTuple):
    """The faults of one round of walks: a storm, and a share of replies that are lost in addition."""

    seed: int
    intensity: float
    lost: float = 0.0


RESPECTED_LIMIT = RateLimit(per_window=500, window=60.0, headers="b")
EXCEEDED_LIMIT = RateLimit(per_window=60, window=60.0, headers="none")
"""The storm's 429 replies name a higher limit, so that this one is exceeded repeatedly."""
SCENARIOS: list[tuple[RateLimit, list[Chapter]]] = [
    (RESPECTED_LIMIT, [Chapter(1, 0.05), Chapter(2, 0.6), Chapter(3, 0.3)]),
    (EXCEEDED_LIMIT, [Chapter(4, 0.1), Chapter(5, 0.4), Chapter(6, 0.6, lost=0.4)]),
]


@pytest.fixture(autouse=True)
def sleepless(monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = asyncio.sleep

    async def zero(seconds: float, result: Any = None) -> Any:
        assert seconds == 0, f"a real sleep of {seconds} s"
        return await sleep(0, result)

    monkeypatch.setattr(asyncio, "sleep", zero)


@pytest.fixture
def transports(note_transports: Any) -> Iterator[WeakSet[Any]]:
    """The client's transports that are still referenced."""
    made: WeakSet[Any] = WeakSet()
    note_transports(made.add)
    yield made
    made.clear()


class Pair(NamedTuple):
    """The two users of a conversation, and its message ids."""

    uids: tuple[str, str]
    ids: list[str]


class Results:
    def __init__(self) -> None:
        self.continued: Counter[str] = Counter()
        """The number of errors after which a walk was continued, by class."""
        self.walks = 0
        self.sent: dict[str, str] = {}
        """The result of each send by its muid: sent, refused or unknown."""


def busiest_pairs(emulator: Emulator) -> list[Pair]:
    """Return the conversations of two users with the most messages."""
    pairs: list[Pair] = []
    for first, second in combinations(emulator.store.people.uids(), 2):
        if {first, second} != {SENDER, RECEIVER}:
            numbers = emulator.store.ids(conversation=conversation_id(first, second))
            pairs.append(Pair((first, second), [str(number) for number in numbers]))
    return sorted(pairs, key=lambda pair: -len(pair.ids))[:PAIRS]


async def read(session: AsyncSession, pair: Pair, number: int, results: Results) -> None:
    """Read a conversation, and continue the walk after every error."""
    affix = "append" if number % 2 else "prepend"
    query = MessageQuery(affix=affix, limit=4 + number % 17)
    walk = session.messages.list_user(pair.uids[0], on_behalf_of=pair.uids[1], query=query)
    ids: list[str] = []
    while True:
        try:
            async for message in walk:
                ids.append(message.id)
            break
        except ChatRestError as error:
            results.continued[type(error).__name__] += 1
    assert ids == (pair.ids if affix == "append" else pair.ids[::-1])
    results.walks += 1


async def send(session: AsyncSession, muid: str, results: Results) -> None:
    """Send a message once, and record its result."""
    message = NewMessage.text(RECEIVER, muid, muid=muid)
    try:
        sent = await session.messages.send(message, on_behalf_of=SENDER)
    except (OutcomeUnknownError, RateLimitError) as error:
        results.sent[muid] = "unknown" if isinstance(error, OutcomeUnknownError) else "refused"
    else:
        assert sent.muid == muid
        results.sent[muid] = "sent"


async def all_at_once(
    emulator: Emulator, session: AsyncSession, pairs: list[Pair], number: int, results: Results
) -> None:
    """Read every conversation in both directions and send messages; a tenth of the walks is interactive."""
    bulk = session.with_options(priority="bulk")
    async with asyncio.TaskGroup() as group:
        for index in range(2 * len(pairs)):
            view = session if index % 10 == 0 else bulk
            group.create_task(read(view, pairs[index // 2], index, results))
        for index in range(SENDS):
            group.create_task(send(session, f"{number}-{index}", results))


def change_weather(emulator: Emulator, chapter: Chapter) -> None:
    """Replace the emulator's faults by those of `chapter`."""
    seed, share = chapter.seed, chapter.intensity
    emulator.weather.clear()
    emulator.weather.add(
        Latency(0.05, when=Chance(share, seed)),
        Status(503, route="messages.send", processed=True, when=Chance(share / 4, seed)),
        Reset(route="messages.send", processed=True, when=Chance(share / 4, seed)),
        Reset(route="messages.send", when=Chance(share / 4, seed)),
        Status(500, method="GET", when=Chance(chapter.lost, seed)),
        *storm(seed, share),
        EmptyPage(when=Chance(share / 15, seed), max_streak=MAX_STREAK),
    )


def stored_counts(emulator: Emulator) -> Counter[str]:
    """Return the number of stored copies of each sent message, by its muid, which no `m-` begins."""
    name = conversation_id(SENDER, RECEIVER)
    records = map(msgspec.json.decode, emulator.store.records(emulator.store.ids(conversation=name)))
    return Counter(record["muid"] for record in records if not record.get("muid", "m-").startswith("m-"))


def allocated_bytes() -> int:
    """Return the bytes that were allocated since the start of tracing and are still in use."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.fixture
def tracing() -> Iterator[None]:
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(("limit", "chapters"), SCENARIOS, ids=["limit-respected", "limit-exceeded"])
async def test_walks_and_sends_survive_a_minute_of_faults(
    transports: WeakSet[Any], limit: RateLimit, chapters: list[Chapter]
) -> None:
    results, time = Results(), VirtualTime()
    times: dict[str, Any] = {"clock": time.clock, "sleep": time.sleep}
    async with Emulator(users=60, messages=1000, seed=5, limit=limit, **times) as emulator:
        pairs = busiest_pairs(emulator)
        async with AsyncSession(emulator.app, dice=Random(0).random, **times) as session:
            number = 0
            while number < len(chapters) or time.now < START + SECONDS:
                change_weather(emulator, chapters[number % len(chapters)])
                await all_at_once(emulator, session, pairs, number, results)
                number += 1
                assert (session.pools["us"].active, session.pools["us"].waiting) == (0, 0)
                emulator.requests.clear()
                time.slept.clear()
                if number == 1:
                    tracemalloc.start()
            assert allocated_bytes() < MAX_ALLOCATED
            assert results.walks == 2 * PAIRS * number
            assert bool(results.continued) == bool(emulator.limited.refused) == (limit is EXCEEDED_LIMIT)
            check_sends(results, stored_counts(emulator))
        await asyncio.sleep(0)
        assert all(transport.is_closing() for transport in transports)
        assert all(transport.get_extra_info("socket").fileno() == -1 for transport in transports)


def check_sends(results: Results, counts: Counter[str]) -> None:
    """Assert that sent messages are stored once, and refused ones never."""
    assert (
        {muid for muid, end in results.sent.items() if end == "sent"} <= counts.keys() <= results.sent.keys()
    )
    assert set(counts.values()) == {1}
    assert not [muid for muid, end in results.sent.items() if end == "refused" and muid in counts]
    # Both cases occur and cannot be distinguished, so the outcome is unknown and nothing is repeated.
    assert {muid in counts for muid, end in results.sent.items() if end == "unknown"} == {True, False}
