"""The sources of a run: those that the plan names, and the users that the service lists.

Also the requests of an export that read no source: the app's newest message, and a check of an empty list.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from ..._core.replies.rows import UNKNOWN, Row
from ..._core.send import AsRows
from ..._parameters.messages import MessageQuery
from ..._parameters.users import UserQuery
from ..._resources.messages import Messages
from ..._threads import for_each
from ..._walk.walk import Walk
from ...errors import (
    ActingUserIgnoredError,
    AuthenticationError,
    BadRequestError,
    ChatRestError,
    CursorError,
    NotFoundError,
    PermissionDeniedError,
    RequestInvalidError,
)
from ...session import AsyncSession
from ..folder.journal import SourceState
from ..plan.export_plan import Plan
from ..plan.file_names import MILLISECONDS
from ..plan.message_ids import numbers_in
from ..plan.ownership import OF_PARTS, Source
from .page_check import Window, as_served, falls
from .worker_pool import WorkerPool

GOES_BACKWARDS: Final = "goes_backwards"
"""In the journal's meta: the app's own list was seen to begin with its newest message where asked for it."""
_NO_LIST: Final = (NotFoundError, PermissionDeniedError, BadRequestError)
"""The errors of a key, or a service, without the app's own list."""
_EVERYBODY: Final = UserQuery(with_deactivated=True)
_ASKED: Final = 3
"""Users whose lists are looked into where the app's own list is empty."""
_ASKED_FOR_TIME: Final = 20
"""Sources whose lists are looked into for the unit of the service's times."""
_LISTINGS: Final = 3
_NEWEST: Final = 10
"""Messages of a list that are looked into: some tell no time."""
_NEWEST_OF_APP: Final = 100
_ASKED_AT_ONCE: Final = 4
"""New sources that are asked for at the same time."""
_NO_USER: Final = "ERR_UID_NOT_FOUND"


class SourceList:
    """The sources of a run, as the journal knows them, and as `pool` could read them."""

    def __init__(
        self,
        session: AsyncSession,
        pool: WorkerPool,
        only: Plan | None = None,
        handed: Sequence[Source] | None = None,
    ) -> None:
        """With `only` its sources are read, and no others of the folder's plan. The users are `handed` to a
        part of an export, which does not list them.
        """
        self._handed = handed
        self._session = session
        self._pool = pool
        self._journal = pool.export.journal
        self._plan = pool.export.plan
        self._reads = only or self._plan
        self._listed: set[Source] = set()
        self.fault: CursorError | None = None
        """The reason why the users are not known to be all, if that is so."""

    @property
    def run_sources(self) -> Iterator[SourceState]:
        """Those that this run reads, without users that were deleted. None is in memory."""
        return filter(self.reads, self.plan_sources) if self._reads is not self._plan else self.plan_sources

    @property
    def plan_sources(self) -> Iterator[SourceState]:
        """Those that the plan asks for, without users that were deleted. None is in memory."""
        return (each for each in self._journal.iter_sources() if each.is_read)

    def reads(self, state: SourceState) -> bool:
        return self._reads is self._plan or self._reads.holds(state.source)

    async def check_new(self) -> None:
        """Ask for the sources that the plan did not have before this run: one request per source.

        Raises `RequestInvalidError` if the service refuses one: a wrong name must not stay in a plan.
        """
        before = frozenset(self._pool.export.stored_plan.sources)
        new = [each for each in self._reads.sources if each not in before]
        if self._reads is not self._plan:  # a user from the full list is already in the journal
            new = [each for each in new if not self._journal.source_number(each.key)]
        messages, refused = Messages(AsRows(self._session.sender)), list[str]()

        async def ask(source: Source) -> None:
            try:
                await source.list(messages, MessageQuery(affix="prepend")).limit(1).collect()
            except (*_NO_LIST, ActingUserIgnoredError) as error:
                refused.append(f"{source}: {error}")

        await for_each(new, ask, _ASKED_AT_ONCE)
        if refused:
            more = f", and {len(refused) - 1:,} more sources" if len(refused) > 1 else ""
            raise RequestInvalidError(f"the plan stays as it is, and nothing was read: {refused[0]}{more}")

    async def learn(self) -> None:
        self._listed = set(self._reads.sources)
        if self._handed is not None:
            self._listed.update(self._handed)
        elif self._reads.all_users:
            listed, self.fault = await listed_users(self._session)
            self._listed.update(listed)
        returned = [
            state.number
            for state in self._journal.iter_sources()
            if state.state == "deleted_user" and state.source in self._listed
        ]
        # In an order that does not depend on the pages of the users.
        self._add([*self._reads.sources, *sorted(self._listed, key=str)])
        self._pool.export.expect_again(returned)

    async def update(self) -> None:
        listed = self._listed - {*self._reads.sources}
        states = (state for state in self.run_sources if state.source in listed)
        errors = (self._pool.findings.errors.get(state.number) for state in states)
        if any(isinstance(error, NotFoundError) and error.code != _NO_USER for error in errors):
            if self._handed is not None:
                there = {source async for source in users(self._session)}
                self._handed = [source for source in self._handed if source in there]
            await self.learn()

    def add_app_list(self) -> SourceState:
        """Return the app's own list as a source, which the plan need not ask for."""
        app_list = Source("everything")
        self._add([app_list])
        return next(state for state in self._journal.iter_sources() if state.source == app_list)

    def refresh(self) -> None:
        self._pool.progress.sources = 0
        for each in self.plan_sources:
            self._pool.check.rules.add(each.source)
            self._pool.progress.sources += self.reads(each)

    def _add(self, sources: list[Source]) -> None:
        self._journal.note_sources(sources, self._plan)
        self.refresh()

    async def recent_time(self) -> int | None:
        """Return when one of the newest messages of the first sources was sent, in the service's unit.

        Costs up to 20 requests; None if no message there has a time.
        """
        messages = Messages(AsRows(self._session.sender))
        for state in islice(self.run_sources, _ASKED_FOR_TIME):
            walk = state.source.list(messages, MessageQuery(affix="prepend")).limit(_NEWEST)
            try:
                times = [row.sent_at for row in await walk.collect()]
            except AuthenticationError:
                raise
            except ChatRestError:  # the pages decide
                continue
            if (time := max(times, default=UNKNOWN)) > 0:
                return time
        return None

    @property
    def kept(self) -> list[str]:
        """Sources that earlier runs have read, and that the plan does not ask for any more."""
        unasked = (
            each for each in self._journal.iter_sources() if not each.asked and each.source != OF_PARTS
        )
        return [str(each.source) for each in unasked if each.proven or not is_app_list(each)]

    def lists(self, state: SourceState) -> bool:
        return state.source in self._listed

    def is_deleted(self, state: SourceState) -> bool:
        """Return whether a source is a user that was deleted or switched off: its list cannot be read.

        A user that is switched off may still be listed; then the service must report that the user
        is missing (error codes: "no such user or switched off"), and not only that there is no list.
        """
        if state.state == "deleted_user":
            return True
        error = self._pool.findings.errors.get(state.number)
        if not isinstance(error, NotFoundError):
            return False
        is_named = state.source in self._reads.sources
        return state.source not in self._listed or (not is_named and error.code == _NO_USER)

    def is_refused(self, state: SourceState) -> bool:
        return state.number in self._pool.findings.errors and not self.is_deleted(state)


def is_app_list(state: SourceState) -> bool:
    return state.source.kind == "everything" and not state.asked


async def newest(session: AsyncSession) -> list[Row]:
    """Return the newest messages of the app as the service orders them, the newest first: one request.

    At most 100, as that of the last run is usually among them. Empty if the service does not show them.
    """
    messages = Messages(AsRows(session.sender))
    walk: Walk[Any] = messages.list(query=MessageQuery(affix="prepend")).limit(_NEWEST_OF_APP)
    try:
        async with aclosing(walk.pages()) as pages:
            page = await anext(pages, None)
    except _NO_LIST:
        return []
    rows = [] if page is None else as_served(page)
    return rows[::-1] if falls(rows[::-1]) else rows


def in_order(rows: list[Row]) -> list[Row]:
    """Return those of the app's newest messages whose order shows which is the newest: not those whose ids
    are not numbers, or occur twice.
    """
    counts = Counter(map(attrgetter("id"), rows))
    numbered = [row for row, each in zip(rows, numbers_in(rows), strict=True) if each is not None]
    return [row for row in numbered if counts[row.id] == 1] or numbered or rows


async def goes_backwards(session: AsyncSession, newest: Row) -> bool:
    """Return True if the app's own list shows no message older than `newest`: one or two requests.

    A service that ignores `affix=prepend` shows old messages as the newest ones. One that also ignores
    `id` shows the beginning of the list here, which proves nothing.
    """
    query = MessageQuery(affix="append", id=newest.id)
    try:
        # Two, as some services show the message itself, too.
        messages = await session.messages.list(query=query).limit(2).collect()
    except (*_NO_LIST, CursorError):
        return False
    return all(message.id == newest.id for message in messages)


async def users(session: AsyncSession) -> AsyncIterator[Source]:
    """Yield the users of the app, some of them twice if one is removed during the listing.

    With page numbers, a removed user hides the first one of the next page, and the total decreases:
    then all are listed again. Raises `CursorError` if that does not end.
    """
    for _ in range(_LISTINGS):
        totals = list[int]()
        async with aclosing(session.users.list(_EVERYBODY).thorough().pages()) as pages:
            async for page in pages:
                for user in page.items:
                    yield Source("user", (user.uid,))
                pagination = page.meta.pagination
                totals += [pagination.total or 0] if page.items and pagination is not None else []
        if totals == sorted(totals):
            return
    raise CursorError(f"users were removed during each of the {_LISTINGS} readings")


async def listed_users(session: AsyncSession) -> tuple[list[Source], CursorError | None]:
    """Return the users of the app, each once; with an error it is unknown whether there are more."""
    listed = dict[Source, None]()
    try:
        async for source in users(session):
            listed[source] = None
    except CursorError as error:
        return list(listed), CursorError(f"the list of users could not be read to its end: {error}")
    return list(listed), None


async def user_with_messages(session: AsyncSession, window: Window) -> str | None:
    """Return one of the app's first users whose list has a message of a window, in the service's unit: a few
    requests; None if none has.
    """
    messages = Messages(AsRows(session.sender, drops_mismatches=True))
    since, until = window.asked()
    query = MessageQuery(affix="prepend", from_timestamp=since, to_timestamp=until)
    try:
        async for user in session.users.list(_EVERYBODY).limit(_ASKED):
            rows: list[Any] = await messages.list_user(user.uid, query=query).limit(_NEWEST).collect()
            if window.within(rows):
                return user.uid
    except ChatRestError:
        return None  # only a hint: the export does not depend on it
    return None


def sent_by(session: AsyncSession) -> int:
    return sum(pool.sent for pool in session.pools.values())


def ago(end: int, seconds: int) -> int:
    """Return the timestamp so many seconds before another one, in its unit."""
    return max(0, end - seconds * (1000 if end >= MILLISECONDS else 1))
