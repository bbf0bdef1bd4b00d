"""Reads what is new since the last run from the app's own list, instead of from the list of every source.

Of hundreds of sources few have anything new in a night, and asking each of them costs a request. The app's
own list (GET /messages) shows all of it at once. It is believed only where it proves right:

| the app's own list                                        | then                                       |
|-----------------------------------------------------------|--------------------------------------------|
| is refused, or goes by time                               | every source is asked                      |
| costs more requests than half of the sources              | every source is asked                      |
| ends before the newest message of the app                 | every source is asked                      |
| shows a message of a source whose own list does not       | every source is asked                      |
| lacks a message that the own list of a source shows       | every source is asked                      |
| shows a group's message that no source claims             | every source is asked, if there are users: |
|                                                           | a member's list may have it                |
| was believed in the last six runs                         | every source is asked                      |
| agrees with the own lists of all sources that were asked  | the ends of the other sources are proven   |

The sources that are asked are drawn by lot: one that it shows something of, one that writes a message to a
group, and one that it shows nothing of. Rows are written as they come; that sources have seen them is noted
only at the end.
"""

from collections.abc import Iterable
from contextlib import aclosing
from operator import attrgetter
from typing import Final, final

from msgspec import structs

from ..core.intervals import LAST, Gap, gaps
from ..core.rows import AsRows, Row
from ..errors import ApiError, AuthenticationError, CursorError, ServerError
from ..queries.messages import MessageQuery
from ..resources.messages import Messages
from ..session import AsyncSession
from ..walks.piece_queue import Piece
from ..walks.piece_reader import NotOrderedByIdError, PieceReader, PositionRefusedError
from .archive import Archive, FetchedPage
from .id_set import IdSet
from .in_thread import in_thread
from .jobs import Job
from .journal import SourceState
from .message_ids import PageIds, ids_of
from .ownership import OwnershipRules, Source
from .page_partition import Window
from .source_list import SourceList
from .worker_pool import WorkerPool

LEAST_SOURCES: Final = 8
"""With fewer sources, each of them is asked."""
MOST_RUNS: Final = 6
"""Runs in a row that believe the app's own list; the next one asks every source: a message that the list
hides, of a source that the lot did not fall on, is found by then."""
_RUNS: Final = "runs_by_app_list"
"""The journal's note of how many there were."""
_BATCH: Final = 1000
"""Sources whose proof is noted at once."""
_ENDS: Final = attrgetter("sender", "receiver", "receiver_type")


@final
class News:
    """The messages that are new since the last run, as the app's own list shows them."""

    def __init__(
        self, session: AsyncSession, archive: Archive, sources: SourceList, pool: WorkerPool, until: int
    ) -> None:
        self._session = session
        self._archive = archive
        self._sources = sources
        self._pool = pool
        self._until = until
        self._eligible: dict[Source, SourceState] = {}
        self._claims = NewClaims(sources.rules)
        self._sampled: dict[Source, SourceState] = {}
        self.asks_all = False
        """True once `read` has found that it is time to ask every source."""

    async def read(self) -> bool:
        """Read what is new; return True where the ends of the sources are proven by it.

        Where they are not, nothing is lost: each source has to be asked then, and what was written stays.
        """
        self._eligible = {known.source: known for known in self._candidates()}
        runs = int(self._archive.journal[_RUNS] or 0)
        self.asks_all = runs >= MOST_RUNS
        is_proven = (
            not self.asks_all and len(self._eligible) >= LEAST_SOURCES and await self._is_proven_by_list()
        )
        if is_proven or runs:
            with self._archive.journal.transaction():
                self._archive.journal[_RUNS] = str(runs + 1 if is_proven else 0)
        return is_proven

    async def _is_proven_by_list(self) -> bool:
        after = max(known.proven for known in self._eligible.values())
        if after < self._until and not await self._read_list(after):
            return False
        if not await self._sample(self._drawn(self._eligible.keys() - self._claims.ids.keys())):
            return False
        return await in_thread(lambda: self._prove(after))

    def _candidates(self) -> list[SourceState]:
        """Return the sources whose end was proven by the last run, and that have no gaps below it."""
        plan = self._archive.plan
        if plan.everything or plan.query != MessageQuery() or plan.window[1] is not None:
            return []  # the app's own list may take filters in a way of its own
        end = max((known.proven for known in self._sources.known), default=0)
        return [
            known
            for known in self._sources.known
            if known.proven == end > 0 and known.state == "open" and not known.by_time
            if self._until != LAST and len(self._gaps(known)) == 1
        ]

    def _gaps(self, known: SourceState) -> list[Gap]:
        return gaps(self._archive.journal.intervals(known.number), max(self._until, known.proven + 1))

    # ── the app's own list ──

    async def _read_list(self, after: int) -> bool:
        """Read the app's own list behind an id; return True where it reaches the frozen end."""
        piece = Piece(of=None, after=after, until=self._until, is_guess=True, may_be_cut=False)
        messages = Messages(AsRows(self._session.sender))
        reader: PieceReader[Row] = PieceReader(Source("everything").list(messages, MessageQuery()))
        pages_left = len(self._eligible) // 2
        try:
            async with aclosing(reader.pages(piece)) as parts:
                async for part in parts:
                    pages_left -= 1
                    if part.page is None or pages_left < 0 or not await self._take(part.items):
                        return False
                    if part.items and part.items[-1].id == str(self._until):
                        return True
        except (PositionRefusedError, NotOrderedByIdError, CursorError):
            return False
        except ApiError as error:
            if isinstance(error, AuthenticationError | ServerError):
                raise
        return False

    async def _take(self, rows: list[Row]) -> bool:
        """Write the rows of a page; return False where it cannot be told which of them the export holds."""
        rows = Window(*self._archive.plan.window).within(rows)
        if ids_of(rows).others:
            return False
        by_owner = self._claims.add(rows)
        if self._claims.has_unclaimed and any(known.source.kind == "user" for known in self._sources.known):
            return False
        for group in (self._claims.ids.keys(), self._claims.senders):
            if not self._sampled.keys() & group and not await self._sample(self._drawn(group)):
                return False
        numbers = {known.source: known.number for known in self._sources.known}
        await self._pool.commit([_page(numbers[owner], owner, own) for owner, own in by_owner.items()])
        return True

    # ── the proof ──

    def _drawn(self, sources: Iterable[Source]) -> list[Source]:
        """Draw a source by lot, of those that are eligible and not asked yet."""
        left = sorted(self._eligible.keys() & set(sources) - self._sampled.keys(), key=str)
        return [left[int(self._session.sender.dice() * len(left))]] if left else []

    async def _sample(self, sources: list[Source]) -> bool:
        """Read the own lists of sources; return True where their ends are proven."""
        states = [self._eligible[source] for source in sources]
        self._sampled.update(zip(sources, states, strict=True))
        await self._pool.read(
            self._pool.piece(
                Job(number=known.number, source=known.source, until=self._until), self._gaps(known)[0]
            )
            for known in states
        )
        return all(known.number in self._pool.ended for known in states)

    def _prove(self, after: int) -> bool:
        """Note what the other sources have seen, and that their ends are proven; False where it is not so."""
        journal = self._archive.journal
        for source, known in self._sampled.items():
            own = journal.seen(known.number).between(after + 1, self._until)
            if own != self._claims.ids.get(source, IdSet()):
                return False
        pages = [
            structs.replace(
                _page(known.number, source, []),
                seen=PageIds(ids, {}),
                after=self._gaps(known)[0].after,
                last=ids.last,
                proven=self._until,
            )
            for source, known in self._eligible.items()
            if source not in self._sampled
            for ids in [self._claims.ids.get(source, IdSet())]
        ]
        for start in range(0, len(pages), _BATCH):
            self._archive.commit(pages[start : start + _BATCH])
        return True


@final
class NewClaims:
    """The ids that the own lists of sources should show, by the rule of ownership."""

    def __init__(self, rules: OwnershipRules) -> None:
        self._rules = rules
        self.ids: dict[Source, IdSet] = {}
        self.senders: set[Source] = set()
        """Sources that write a message to a group."""
        self.has_unclaimed = False
        """True once a group's message came that no source claims."""

    def add(self, rows: list[Row]) -> dict[Source, list[Row]]:
        """Add the rows of a page; return those that a source claims, by the one that writes them."""
        by_owner: dict[Source, list[Row]] = {}
        by_claimant: dict[Source, list[Row]] = {}
        for row in rows:
            claimants = self._rules.claimants(*_ENDS(row))
            if claimants:
                by_owner.setdefault(claimants[0], []).append(row)
            if row.receiver_type != "user":
                self.has_unclaimed = self.has_unclaimed or not claimants
                self.senders.update(claimants[:1])
            for source in claimants:
                by_claimant.setdefault(source, []).append(row)
        for source, claimed in by_claimant.items():
            self.ids.setdefault(source, IdSet()).update(ids_of(claimed).numbers)
        return by_owner


def _page(number: int, source: Source, rows: list[Row]) -> FetchedPage:
    """Return a page with the rows that a source writes; it covers nothing."""
    nothing = PageIds(IdSet(), {})
    return FetchedPage(
        number=number, source=source, after=0, last=0, seen=nothing, rows=rows, ids=ids_of(rows)
    )
