"""What a night asks once for all parts: the users, the app's newest messages, and what is new.

The app's own list (GET /messages) is believed as in a run of one export (`news`): where it costs less than
half of the lists, reaches the newest message of the app, and agrees with the own lists of some sources drawn
by lot; every seventh night each list is asked. These lists are read, compared, and read again by no one.
"""

from collections.abc import Iterable, Iterator
from contextlib import aclosing
from itertools import islice
from operator import attrgetter
from typing import Any, Final, NamedTuple, final

from ..._core.replies.rows import Row, row_of
from ..._core.send import AsRows
from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ...errors import ApiError, AuthenticationError, ChatRestError, CursorError, ServerError
from ...session import AsyncSession
from ..plan.message_ids import ids_of, number
from ..plan.ownership import Source
from ..plan.part_ownership import PartOwnership
from ..plan.parts import NightNews
from ..plan.plan import Plan
from .news import LEAST_SOURCES, MOST_RUNS
from .page_check import Window
from .piece_reader import NotOrderedByIdError, PieceReader, PositionRefusedError
from .pieces import ListPiece
from .source_list import goes_backwards, in_order, newest, users

_NEWEST: Final = 100
"""The app's newest messages that are asked for: that of the last night is usually among them."""
_LATELY: Final = 20
"""Sources of a kind on which the lot may fall: first those that had news lately."""
_ENDS: Final = attrgetter("sender", "receiver", "receiver_type")


class ListedUsers(NamedTuple):
    """The users of a night."""

    new: list[str]
    gone: list[str]
    fault: str = ""


async def list_users(session: AsyncSession, plan: Plan, known: set[str]) -> ListedUsers:
    """List the users where the plan asks for all; `known` are those of earlier nights."""
    listed, fault = dict.fromkeys(plan.users), ""
    if plan.all_users:
        try:
            async for source in users(session):
                listed[source.names[0]] = None
        except CursorError as error:
            fault = f"the list of users could not be read to its end: {error}"
    new = [uid for uid in listed if uid not in known]
    # Where the list was not read to its end, nobody is known to be gone.
    return ListedUsers(new, [] if fault else sorted(known - listed.keys()), fault)


@final
class NewsOfNight:
    """The newest messages, and what is new since the last night."""

    def __init__(
        self, session: AsyncSession, plan: Plan, rule: PartOwnership, former: NightNews | None
    ) -> None:
        self._session = session.with_options(priority="bulk")
        self._messages = Messages(AsRows(self._session.sender))
        self._plan, self._rule, self._former = plan, rule, former
        self._window = Window(*plan.window)
        self._claims: dict[Source, set[int]] = {}
        """The ids that the own lists of sources should show."""
        self._senders: set[Source] = set()
        """The senders of messages to groups."""
        self._rows: list[Row] = []

    async def newest(self) -> NightNews:
        """Return the app's newest messages: one request, and two or three in the first night."""
        rows, former = await newest(self._session, _NEWEST), self._former
        last = next(iter(in_order(rows)), None)
        is_backwards = former is not None and former.goes_backwards and len(former.newest) > 1
        if last is not None and number(last.id) is not None and not is_backwards:
            is_backwards = await goes_backwards(self._session, last)
        if former is not None and former.newest:
            known = row_of(former.newest[0])
            if known.id not in {row.id for row in rows}:
                rows += await self._message(known.id)
        return NightNews(newest=[row.raw for row in rows], goes_backwards=is_backwards)

    async def _message(self, key: str) -> list[Row]:
        """Return the newest message of the last night, by which parts see that ids go on; none if gone."""
        try:
            reply: Any = await self._messages.get(key)
        except (AuthenticationError, ServerError):
            raise
        except ChatRestError:
            return []
        return list(reply.items)

    async def read(self, news: NightNews, uids: Iterable[str], count: int) -> tuple[int, list[Row]] | None:
        """Return the end of the last night, and what is new after it; None where each list is to be asked.

        `uids` are users of earlier nights, and `count` is that of all sources.
        """
        until, former = _until(news), self._former
        if news.newest:
            self._window = self._window.in_unit_of(max(row_of(raw).sent_at for raw in news.newest))
        after = None if former is None else _until(former)
        if former is None or after is None or until is None or until < after or self._plan.until is not None:
            return None
        if former.believed >= MOST_RUNS or (until > after and count < LEAST_SOURCES):
            return None
        try:
            if until > after and not await self._read_list(after, until, count // 2):
                return None
            if count >= LEAST_SOURCES and not await self._agrees(after, until, uids):
                return None
        except (PositionRefusedError, NotOrderedByIdError, CursorError):
            return None
        except ApiError as error:
            if isinstance(error, AuthenticationError | ServerError):
                raise
            return None
        return after, self._rows

    # ── the app's own list ──

    async def _read_list(self, after: int, until: int, pages: int) -> bool:
        """Read what is new; return True if the list reaches the newest message within so many pages."""
        piece = ListPiece(of=None, after=after, until=until, is_guess=True, may_be_cut=False)
        reader = PieceReader(self._messages.list(query=MessageQuery()), piece)
        async with aclosing(reader.pages()) as parts:
            async for part in parts:
                pages -= 1
                if pages < 0 or not self._take(self._window.within(part.items), until):
                    return False
                if part.items and part.items[-1].id == str(until):
                    return True
        return False

    def _take(self, rows: list[Row], until: int) -> bool:
        """Note the rows of a page; return False if it is not known which of them the export holds."""
        if ids_of(rows).others:
            return False
        for row in rows:
            numbered, claimants = number(row.id) or 0, self._rule.claimants(*_ENDS(row))
            if numbered > until:
                continue
            for source in claimants:
                self._claims.setdefault(source, set()).add(numbered)
            if claimants:
                self._rows.append(row)
            if row.receiver_type != "user":
                if not claimants and (self._plan.all_users or self._plan.users):
                    return False  # a member's list may have it
                self._senders.update(each for each in claimants if each.kind == "user")
        return True

    # ── the own lists of some sources ──

    async def _agrees(self, after: int, until: int, uids: Iterable[str]) -> bool:
        """Return whether the own lists of sources drawn by lot show what the app's own list has shown."""
        asked = set[Source]()
        for group in ({*self._claims}, self._senders):
            asked |= set() if asked & group else self._drawn(group)
        silent = [*self._lately(), *(Source("user", (uid,)) for uid in islice(uids, _LATELY))]
        silent = [each for each in [*silent, *self._plan.sources] if each not in self._claims]
        for kind in sorted({each.kind for each in silent}):
            asked |= self._drawn([each for each in silent if each.kind == kind][:_LATELY])
        for source in sorted(asked, key=str):
            if await self._own_ids(source, after, until) != self._claims.get(source, set()):
                return False
        return True

    def _drawn(self, sources: Iterable[Source]) -> set[Source]:
        ordered = sorted(sources, key=str)
        return {ordered[int(self._session.sender.dice() * len(ordered))]} if ordered else set()

    def _lately(self) -> Iterator[Source]:
        """Yield the sources that had news in the last night."""
        for raw in self._former.rows if self._former is not None else ():
            yield from self._rule.claimants(*_ENDS(row_of(raw)))

    async def _own_ids(self, source: Source, after: int, until: int) -> set[int]:
        """Return the new ids of a list, read from its newest one back: it need not have the id `after`."""
        ids = set[int]()
        walk = source.list(self._messages, MessageQuery(affix="prepend"))
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                numbers = [number(row.id) or 0 for row in self._window.within(page.items)]
                ids.update(each for each in numbers if after < each <= until)
                if any(each <= after for each in numbers):
                    break
        return ids


def _until(news: NightNews) -> int | None:
    """Return the app's newest id, where its newest messages tell it."""
    rows = in_order([row_of(raw) for raw in news.newest])
    numbers = [number(row.id) or 0 for row in rows]
    return numbers[0] if news.goes_backwards and numbers and numbers[0] == max(numbers) > 0 else None
