"""The demo's walks: one user's conversations, several at once; then everything, cut into spans of time.

The first is the operation that the specification shows in full: the messages between two users. It is the
way to one user's conversations, but not to everybody's: 50 users are 1,225 pairs, and groups are none of
them. So the second is the list of the whole app. Every message has one time of sending, and so is in
exactly one span; spans need nothing of each other, and are walked at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

from ...models.message import Message
from ...queries import MessageQuery
from ...walk import Walk
from ..lines import lines_of
from .files import Folder, file_name

if TYPE_CHECKING:
    from ...session import AsyncSession

AT_ONCE: Final = 8
"""Walks that are under way at once: each holds a page in memory."""
SPANS: Final = 4

Tick: TypeAlias = Callable[[int], None]
Span: TypeAlias = tuple[int | None, int | None]


@final
class Tally:
    """What came of some walks: every record once, by its id, with a hash of its bytes."""

    def __init__(self) -> None:
        self.records: dict[str, int] = {}
        self.conversations: set[str] = set()
        self.repeats = 0
        """Records whose id had come before."""
        self.size = 0
        """Bytes of records, a newline each."""
        self.files = 0

    def add(self, items: Iterable[Any], lines: list[bytes]) -> None:
        """Notes a page's records."""
        for item, line in zip(items, lines, strict=True):
            self.repeats += item.id in self.records
            self.records[item.id] = hash(line)
            self.conversations.add(item.conversation_id)
        self.size += sum(map(len, lines)) + len(lines)


def conversation_files(uid: str, others: Iterable[str]) -> dict[str, str]:
    """The file of each conversation of `uid`, by the other side's uid."""
    return {other: f"{file_name(uid)}/{file_name(other)}.jsonl" for other in others}


def span_files() -> list[str]:
    """The files of all messages, in the order of time."""
    return [f"messages-{number}.jsonl" for number in range(1, SPANS + 1)]


async def conversations(
    session: "AsyncSession", uid: str, files: dict[str, str], folder: Folder, tick: Tick
) -> Tally:
    """Writes the conversation of `uid` with each of the others to its file; `tick` hears of each."""
    tally = Tally()

    async def one(other: str) -> None:
        walk = session.messages.list_user(uid, on_behalf_of=other, query=MessageQuery(affix="append"))
        await _written(walk, folder, files[other], tally, lambda _: None)
        tick(1)

    await _at_once(one(other) for other in files)
    return tally


async def everything(session: "AsyncSession", files: list[str], folder: Folder, tick: Tick) -> Tally:
    """Writes all messages of the app, a file a span of time; `tick` hears how many came."""
    tally = Tally()

    async def one(span: Span, name: str) -> None:
        query = MessageQuery(affix="append", from_timestamp=span[0], to_timestamp=span[1])
        await _written(session.messages.list(query=query), folder, name, tally, tick)

    await _at_once(one(span, name) for span, name in zip(await _spans(session), files, strict=False))
    return tally


async def _spans(session: "AsyncSession") -> list[Span]:
    """Up to SPANS spans of time that touch and do not overlap; open at both ends."""
    ends = [await _edge(session, affix) for affix in ("append", "prepend")]
    first, last = (message.sent_at if message is not None else 0 for message in ends)
    inner = {first + (last - first) * part // SPANS for part in range(1, SPANS)} - {first}
    edges = [None, *sorted(inner), None]
    return [(start, None if end is None else end - 1) for start, end in pairwise(edges)]


async def _edge(session: "AsyncSession", affix: Any) -> Message | None:
    """The oldest message of the app (append), or the newest (prepend)."""
    query = MessageQuery(affix=affix)
    found = await session.messages.list(query=query).limit(1).collect()
    return found[0] if found else None


async def _written(walk: Walk[Message], folder: Folder, name: str, tally: Tally, tick: Tick) -> None:
    with folder.file(name) as file:
        async for page in walk.pages():
            lines = lines_of(page)
            file.write(lines)
            tally.add(page.items, lines)
            tick(len(lines))
    tally.files += file.size > 0


async def _at_once(work: Iterable[Awaitable[None]]) -> None:
    """Awaits all of `work`, AT_ONCE at a time; the first failure ends the rest."""
    rest = iter(work)

    async def worker() -> None:
        for each in rest:
            await each

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(worker())
