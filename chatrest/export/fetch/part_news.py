"""The requests of a night that serve all parts: the users, the app's newest messages, and what is new.

The app's own list (GET /messages) is believed as in a run of one export (`news`): where it costs less than
half of the lists, reaches the newest message of the app, and agrees with the own lists of some sources drawn
by lot; every seventh night each list is asked. These lists are read, compared, and read again by no one.
"""

from collections.abc import Iterable
from contextlib import aclosing
from itertools import islice
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ..._core.replies.rows import Row, row_of
from ..._core.send import AsRows
from ..._resources.messages import Messages
from ...errors import AuthenticationError, ChatRestError, CursorError, ServerError
from ...session import AsyncSession
from ..plan.message_ids import number
from ..plan.ownership import Source
from ..plan.parts import NightNews, PartOwnership
from ..plan.plan import Plan
from .news import LEAST_SOURCES, MOST_RUNS, AppNews, DisprovedError
from .page_check import Window, falls
from .source_list import goes_backwards, in_order, newest, users

_NEWEST: Final = 100
"""The app's newest messages that are asked for: that of the last night is usually among them."""
_LATELY: Final = 20
"""Users of the first nights on whom the lot may fall, beside those who had news lately."""
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


class NewsOfNight:
    """The newest messages, and what is new since the last night."""

    def __init__(
        self, session: AsyncSession, plan: Plan, rule: PartOwnership, former: NightNews | None
    ) -> None:
        self._session = session.with_options(priority="bulk")
        self._messages = Messages(AsRows(self._session.sender))
        self._plan, self._rule, self._former = plan, rule, former

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
        until, former, rows = _until(news), self._former, list[Row]()
        after = None if former is None else _until(former)
        if former is None or after is None or until is None or until < after or self._plan.until is not None:
            return None
        if former.believed >= MOST_RUNS or (until > after and count < LEAST_SOURCES):
            return None
        window = Window(*self._plan.window)
        if news.newest:
            window = window.in_unit_of(max(row_of(raw).sent_at for raw in news.newest))
        app_news = AppNews(self._session, self._plan, window, self._rule.claimants, after, until)
        lately = [source for raw in former.rows for source in self._rule.claimants(*_ENDS(row_of(raw)))] + [
            Source("user", (uid,)) for uid in islice(uids, _LATELY)
        ]
        try:
            async with aclosing(app_news.pages(count // 2)) as pages:
                async for page in pages:
                    rows += page
            if count >= LEAST_SOURCES:
                await app_news.check(dict.fromkeys([*lately, *self._plan.sources]))
        except DisprovedError:
            return None
        return after, rows


def _until(news: NightNews) -> int | None:
    """Return the app's newest id, if its newest messages show it."""
    rows = in_order([row_of(raw) for raw in news.newest])
    return number(rows[0].id) if news.goes_backwards and rows and falls(rows) else None
